// A provider of OpenID Connect that is not ours: oidc-provider, with one client
// for people and one that is a program. It prints where it is.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, redirect, secret, resource] = process.argv.slice(2);
const found = createRequire(modules + '/').resolve('oidc-provider');
const { Provider } = await import(pathToFileURL(found));

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: 'fold', client_secret: secret, redirect_uris: [redirect] },
      { client_id: 'robot', client_secret: secret, redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: 'Ada of npm', email: 'ada@example.com', email_verified: true }) }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, at) => ({ scope: 'mcp', audience: at, accessTokenFormat: 'jwt', accessTokenTTL: 300 }),
      },
    },
    pkce: { required: () => true },
  });
  server.on('request', provider.callback());
  console.log(issuer, resource);
});
