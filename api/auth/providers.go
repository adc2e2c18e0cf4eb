package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/shown"
	"github.com/foldwatch/foldwatch/meta/state"
)

// maxProviders bounds how many providers administrators may add.
const maxProviders = 50

var providerID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// A provider is one that people can log in by.
type provider struct {
	id    string
	set   conf.AuthProvider
	added bool // by an administrator, else by the user file or the environment
	identifier
}

// newProvider checks the settings, and fills in defaults.
func (l *Logins) newProvider(id string, set conf.AuthProvider) (*provider, error) {
	if !providerID.MatchString(id) {
		return nil, fmt.Errorf("%.40q is no name for a login provider: a to z, digits, _ and -, at most 32: %w", id, fold.ErrInvalid)
	}
	p := &provider{id: id, set: set}
	p.set.Kind = cmp.Or(set.Kind, "oidc")
	if p.set.Kind == "github" {
		p.set.Issuer = cmp.Or(set.Issuer, publicGitHub)
	}
	p.set.Name = cmp.Or(shown.Clip(shown.Line(set.Name), nameRunes), id)
	if err := checkIssuer(p.set.Issuer); err != nil {
		return nil, fmt.Errorf("login provider %s: %w", id, err)
	}
	switch {
	case p.set.ClientID == "":
		return nil, fmt.Errorf("login provider %s has no client_id: %w", id, fold.ErrInvalid)
	case p.set.ClientID == l.Resource():
		// Then an id_token would be for the audience of access tokens.
		return nil, fmt.Errorf("login provider %s: the client_id is the address of /mcp: %w", id, fold.ErrInvalid)
	case p.set.Kind == "github":
		p.identifier = newGitHub(p.set)
	case p.set.Kind == "oidc":
		p.identifier = newIssuer(p.set)
	default:
		return nil, fmt.Errorf("login provider %s: %.20q is neither oidc nor github: %w", id, p.set.Kind, fold.ErrInvalid)
	}
	return p, nil
}

func (l *Logins) openProviders(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(l.opt.Providers)) {
		set := l.opt.Providers[id]
		if set.Disabled {
			continue
		}
		secret, err := set.ReadSecret()
		set.ClientSecret = secret
		var p *provider
		if err == nil {
			p, err = l.newProvider(id, set)
		}
		if err != nil {
			l.noteLeftOut(ctx, id, err)
			continue
		}
		l.providers[id] = p
	}
	recs, err := l.state.AuthProviders(ctx)
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if _, taken := l.opt.Providers[rec.ID]; taken || !rec.Enabled {
			continue // the user file has the last word
		}
		p, err := l.readProvider(rec)
		if err != nil {
			l.noteLeftOut(ctx, rec.ID, err)
			continue
		}
		l.providers[rec.ID] = p
	}
	return nil
}

// noteLeftOut notes a provider with invalid settings, which does not stop the server.
func (l *Logins) noteLeftOut(ctx context.Context, id string, err error) {
	l.log.WarnContext(ctx, "Login provider left out", "provider", id, "err", err)
	l.notices = append(l.notices, fmt.Sprintf("nobody can log in by %s: %v", id, err))
}

// Notices returns which providers were left out at the start, and why.
func (l *Logins) Notices() []string { return l.notices }

// storedProvider is the JSON of the column settings.
type storedProvider struct {
	Kind      string   `json:"kind"`
	Scopes    []string `json:"scopes,omitempty"`
	RoleClaim string   `json:"role_claim,omitempty"`
	Admin     []string `json:"admin,omitempty"`
	Member    []string `json:"member,omitempty"`
	Viewer    []string `json:"viewer,omitempty"`
	Projects  []string `json:"projects,omitempty"`
}

func (l *Logins) readProvider(rec state.AuthProvider) (*provider, error) {
	var k storedProvider
	if err := json.Unmarshal(rec.Settings, &k); err != nil {
		return nil, err
	}
	set := conf.AuthProvider{
		Kind: k.Kind, Name: rec.Name, Issuer: rec.Issuer, ClientID: rec.ClientID, Scopes: k.Scopes,
		RoleClaim: k.RoleClaim, Admin: k.Admin, Member: k.Member, Viewer: k.Viewer, Projects: k.Projects,
	}
	if rec.SecretRef != "" {
		b, err := os.ReadFile(l.secretFile(rec.ID))
		if err != nil {
			return nil, err
		}
		set.ClientSecret = string(b)
	}
	p, err := l.newProvider(rec.ID, set)
	if err != nil {
		return nil, err
	}
	p.added = true
	return p, nil
}

// secretFile has the client secret of a provider that an administrator added, so that a
// copy of the database has no secrets.
func (l *Logins) secretFile(id string) string { return filepath.Join(l.opt.Secrets, id+".secret") }

// provider returns the one with that id, or ErrNotFound.
func (l *Logins) provider(id string) (*provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.providers[id]
	if p == nil {
		return nil, errNoProvider(id)
	}
	return p, nil
}

func errNoProvider(id string) error {
	return fold.WithHint(fmt.Errorf("login provider %.40q: %w", id, fold.ErrNotFound), "GET /auth/providers lists them")
}

// Providers returns the login providers.
func (l *Logins) Providers() wire.AuthProviderList {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := wire.AuthProviderList{Items: []wire.AuthProvider{}}
	for _, id := range slices.Sorted(maps.Keys(l.providers)) {
		list.Items = append(list.Items, l.providers[id].told())
	}
	return list
}

func (p *provider) told() wire.AuthProvider {
	source := "config"
	if p.added {
		source = "added"
	}
	return wire.AuthProvider{ID: p.id, Name: p.set.Name, Kind: p.set.Kind, Issuer: p.set.Issuer, Source: source, Login: "/auth/login/" + p.id}
}

// AddProvider adds a provider. Its secret is stored in a file that only this user can
// read, and never returned. It returns ErrConflict for a name that is taken, and
// ErrInvalid.
func (l *Logins) AddProvider(ctx context.Context, in wire.AuthProviderCreate) (wire.AuthProvider, error) {
	k := storedProvider{Kind: in.Kind, Scopes: in.Scopes, RoleClaim: in.RoleClaim, Admin: in.Admin, Member: in.Member, Viewer: in.Viewer, Projects: in.Projects}
	p, err := l.newProvider(in.ID, conf.AuthProvider{
		Kind: k.Kind, Name: in.Name, Issuer: in.Issuer, ClientID: in.ClientID, ClientSecret: in.ClientSecret, Scopes: k.Scopes,
		RoleClaim: k.RoleClaim, Admin: k.Admin, Member: k.Member, Viewer: k.Viewer, Projects: k.Projects,
	})
	if err != nil {
		return wire.AuthProvider{}, err
	}
	p.added = true
	settings, err := json.Marshal(k)
	if err != nil {
		return wire.AuthProvider{}, err
	}
	rec := state.AuthProvider{ID: p.id, Name: p.set.Name, Issuer: p.set.Issuer, ClientID: in.ClientID, Settings: settings, Enabled: true, Created: l.now().UTC()}

	l.mu.Lock()
	defer l.mu.Unlock()
	if _, named := l.opt.Providers[p.id]; named || l.providers[p.id] != nil {
		return wire.AuthProvider{}, fold.WithHint(fmt.Errorf("login provider %s is there already: %w", p.id, fold.ErrConflict), "delete it first, or take another name")
	}
	if len(l.providers) >= maxProviders {
		return wire.AuthProvider{}, fmt.Errorf("there are %d login providers: %w", maxProviders, fold.ErrInvalid)
	}
	if in.ClientSecret != "" {
		rec.SecretRef = "file"
		if err := l.keepSecret(p.id, in.ClientSecret); err != nil {
			return wire.AuthProvider{}, err
		}
	}
	if err := l.replaceProvider(ctx, rec); err != nil {
		return wire.AuthProvider{}, err
	}
	l.providers[p.id] = p
	if err := l.review(context.WithoutCancel(ctx)); err != nil { // of users it had before
		delete(l.providers, p.id)
		return wire.AuthProvider{}, err
	}
	l.log.InfoContext(ctx, "Login provider added", "provider", p.id, "by", CallerOf(ctx).ID)
	return p.told(), nil
}

// replaceProvider stores the settings of one that may have been left out at the start.
func (l *Logins) replaceProvider(ctx context.Context, rec state.AuthProvider) error {
	if err := l.state.DeleteAuthProvider(ctx, rec.ID); err != nil && !errors.Is(err, fold.ErrNotFound) {
		return err
	}
	return l.state.PutAuthProvider(ctx, rec)
}

func (l *Logins) keepSecret(id, secret string) error {
	if strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }) || len(secret) > 4096 {
		return fmt.Errorf("client_secret has characters that no secret has: %w", fold.ErrInvalid)
	}
	if err := os.MkdirAll(l.opt.Secrets, 0o700); err != nil {
		return fmt.Errorf("keep client_secret: %w", err)
	}
	return disk.WriteFile(l.secretFile(id), []byte(secret), 0o600)
}

// RemoveProvider removes an added provider, with all sessions and tokens that came by it,
// also if it was left out at the start. It returns ErrNotFound, and ErrConflict for a
// provider of the user file or the environment.
func (l *Logins) RemoveProvider(ctx context.Context, id string) error {
	if _, named := l.opt.Providers[id]; named {
		return fold.WithHint(fmt.Errorf("login provider %s stands in the configuration: %w", id, fold.ErrConflict),
			"remove it there (foldwatch config show --origin tells where), then restart the daemon")
	}
	ctx = context.WithoutCancel(ctx) // it may be of a session that came by it
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	users := 0
	for _, u := range l.users {
		if u.rec.Provider == id {
			users++
			err = errors.Join(err, l.endAll(ctx, u))
		}
	}
	if err != nil {
		return err // it is kept, so that it can be asked for again
	}
	switch err = l.state.DeleteAuthProvider(ctx, id); {
	case errors.Is(err, fold.ErrNotFound) && users == 0 && l.providers[id] == nil:
		return errNoProvider(id)
	case err != nil && !errors.Is(err, fold.ErrNotFound): // it went, and what came after failed
		return err
	}
	err = nil
	delete(l.providers, id)
	l.suspend()
	if e := os.Remove(l.secretFile(id)); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	l.log.InfoContext(ctx, "Login provider removed", "provider", id, "by", CallerOf(ctx).ID)
	return err
}

// Resource is the audience of access tokens for MCP.
func (l *Logins) Resource() string { return l.opt.URL + mcpPath }

// Metadata says where to get an access token for MCP (RFC 9728); false if no provider
// gives any.
func (l *Logins) Metadata() (wire.ResourceMetadata, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := wire.ResourceMetadata{Resource: l.Resource(), Name: "foldwatch", Methods: []string{"header"}}
	for _, id := range slices.Sorted(maps.Keys(l.providers)) {
		if p := l.providers[id]; p.set.Kind == "oidc" && !slices.Contains(m.Servers, p.set.Issuer) {
			m.Servers = append(m.Servers, p.set.Issuer)
		}
	}
	return m, len(m.Servers) > 0
}
