package secret

import (
	"strings"
)

// isFalsePositive reports whether a match is known not to be a credential: a rule that
// cries wolf is switched off by its users.
func isFalsePositive(rule, value, line string) bool {
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
	case isIdentifier(value) && isCode(line, value):
		return true
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

// isIdentifier reports whether a value reads as a name made of words, perhaps
// with one number in it: testRSA2048PrivateKey, ed25519.PrivateKey.
func isIdentifier(v string) bool {
	groups, digits, words, letters := 0, 0, 1, 0
	for i := range len(v) {
		c := v[i]
		switch {
		case c >= '0' && c <= '9':
			if digits++; i == 0 {
				return false
			}
			if v[i-1] < '0' || v[i-1] > '9' {
				groups++
			}
		case c == '_' || c == '.':
			words++
		case c >= 'A' && c <= 'Z':
			letters++
			if i > 0 && v[i-1] >= 'a' && v[i-1] <= 'z' {
				words++
			}
		case c >= 'a' && c <= 'z':
			letters++
		default:
			return false
		}
	}
	return groups <= 1 && digits <= 5 && letters >= 4*words
}

// isCode reports whether a value stands in a line as a name does: without
// quotes, behind a comma or an assignment with a blank. Settings files write
// neither.
func isCode(line, value string) bool {
	i := strings.Index(line, value)
	if i < 1 || line[i-1] != ' ' {
		return false
	}
	lead := strings.TrimRight(line[:i], " ")
	return strings.HasSuffix(lead, ",") || strings.HasSuffix(lead, "=")
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
