package secret

import (
	"path"
	"strings"
)

// IsSecretFile reports whether a file is never read because of its name: it
// holds credentials and nothing else. path has forward slashes. All of `.env*`
// is, examples too: people fill them in.
func IsSecretFile(name string) bool {
	name = strings.ToLower(name)
	base := path.Base(name)
	if strings.HasPrefix(base, ".env") || strings.HasSuffix(base, ".env") {
		return true
	}
	switch base {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".htdigest", ".git-credentials", ".dockercfg", ".dockerconfigjson",
		".vault-token", ".boto", ".s3cfg", ".terraformrc", "terraform.rc", "terraform.tfvars", "terraform.tfstate", "terraform.tfstate.backup",
		"credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.xml", "credentials.toml", "credentials.csv",
		"client_secret.json", "client_secrets.json", "service-account.json", "service_account.json", "serviceaccount.json", "application_default_credentials.json",
		"secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secrets.enc", "master.key", "kubeconfig", "wallet.dat", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history":
		return true
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".pkcs12", ".jks", ".keystore", ".kdbx", ".ppk", ".p8", ".asc", ".gpg", ".pgp", ".agekey", ".ovpn", ".tfvars", ".tfstate", ".mobileprovision", ".keychain", ".rdp":
		return true
	}
	dir := "/" + path.Dir(name) + "/"
	if base == "config.json" && strings.HasSuffix(dir, "/.docker/") {
		return true
	}
	for _, d := range []string{"/.ssh/", "/.aws/", "/.gnupg/", "/.kube/"} {
		if strings.Contains(dir, d) {
			return !strings.HasSuffix(base, ".pub") && base != "known_hosts" && !strings.HasPrefix(base, "readme")
		}
	}
	return strings.HasPrefix(base, "client_secret_") && strings.HasSuffix(base, ".json")
}
