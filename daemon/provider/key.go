package provider

import "log/slog"

// A Key is the secret for a provider. Everything that prints or logs values shows it as
// "(set)".
type Key string

const shownKey = "(set)"

// String hides the key.
func (k Key) String() string {
	if k == "" {
		return ""
	}
	return shownKey
}

// GoString hides the key.
func (k Key) GoString() string { return `"` + k.String() + `"` }

// LogValue hides the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText hides the key.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
