package secret

import (
	"strings"
)

// harmless reports whether a match is known not to be a credential: a rule that
// cries wolf is switched off by its users.
func harmless(rule, value, line string) bool {
	v := strings.ToLower(value)
	for _, w := range []string{"example", "placeholder", "changeme", "your_", "your-", "xxxxxx", "redacted", "dummy"} {
		if strings.Contains(v, w) {
			return true
		}
	}
	if rule != genericRule {
		return false
	}
	low := strings.ToLower(line)
	switch {
	case isUUID(v):
		return !strings.Contains(low, "secret") && !strings.Contains(low, "passw") && !strings.Contains(low, "token")
	case isHex(v) && (len(v) == 16 || len(v) == 40 || len(v) == 64):
		// Ids of memories, git objects and SHA-256 sums: only a name that says
		// it outright makes them secrets.
		return !saysSecret(low)
	case strings.HasPrefix(v, "sha256-"), strings.HasPrefix(v, "sha384-"), strings.HasPrefix(v, "sha512-"), strings.HasPrefix(v, "data:"):
		return true
	case strings.Contains(low, ";base64,"):
		return true
	case strings.Count(v, ".") >= 2 && !strings.ContainsAny(v, "0123456789"):
		return true
	}
	return false
}

func saysSecret(line string) bool {
	for _, w := range []string{"secret", "passw", "api_key", "apikey", "api-key", "access_key", "auth_token", "access_token", "private_key"} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == ""
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	parts := strings.Split(s, "-")
	if len(parts) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(parts[i]) != n || !isHex(parts[i]) {
			return false
		}
	}
	return true
}
