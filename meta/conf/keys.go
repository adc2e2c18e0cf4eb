package conf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A key is one setting of the user file that is not under a name of the user's
// own choice.
type key struct {
	name    string // with dots
	at      func(*Config) any
	words   []string // allowed values of a string; nil = any
	weight  bool     // a string that is auto or a number from 0 to 1
	min     float64  // of a number; durations in seconds
	max     float64
	project bool // may stand under [projects.<slug>]
}

// keys returns every key of the user file, in the order of the manual.
func keys() []key {
	return []key{
		{name: "listen", at: func(c *Config) any { return &c.Listen }},
		{name: "log_level", at: func(c *Config) any { return &c.LogLevel }, words: []string{"debug", "info", "warn", "error"}},
		{name: "auto_start", at: func(c *Config) any { return &c.AutoStart }},
		{name: "auto_commit", at: func(c *Config) any { return &c.AutoCommit }, project: true},
		{name: "rebuild_on_start", at: func(c *Config) any { return &c.RebuildOnStart }, project: true},
		{name: "describe", at: func(c *Config) any { return &c.Describe }, words: []string{"default-branch", "worktree"}, project: true},
		{name: "file_memories", at: func(c *Config) any { return &c.FileMemories }, words: fileMemories(), project: true},
		{name: "commit_memories", at: func(c *Config) any { return &c.CommitMemories }, project: true},
		{name: "max_file_kb", at: func(c *Config) any { return &c.MaxFileKB }, min: 1, max: 64 * 1024, project: true},
		{name: "cache_max_mb", at: func(c *Config) any { return &c.CacheMaxMB }, min: 16, max: 1 << 20},
		{name: "chunk.enabled", at: func(c *Config) any { return &c.Chunk.Enabled }, project: true},
		{name: "chunk.min_lines", at: func(c *Config) any { return &c.Chunk.MinLines }, min: 1, max: 10000, project: true},
		{name: "chunk.max_lines", at: func(c *Config) any { return &c.Chunk.MaxLines }, min: 10, max: 100000, project: true},
		{name: "chunk.line_size", at: func(c *Config) any { return &c.Chunk.LineSize }, min: 5, max: 10000, project: true},
		{name: "chunk.line_overlap", at: func(c *Config) any { return &c.Chunk.LineOverlap }, min: 0, max: 1000, project: true},
		{name: "strength_weight", at: func(c *Config) any { return &c.StrengthWeight }, min: 0, max: 1, project: true},
		{name: "decay_half_life_days", at: func(c *Config) any { return &c.DecayHalfLifeDays }, min: 0.01, max: 36500, project: true},
		{name: "recall_half_life", at: func(c *Config) any { return &c.RecallHalfLife }, project: true},
		{name: "decay_archive", at: func(c *Config) any { return &c.DecayArchive }, words: []string{"off", "daily"}, project: true},
		{name: "touch_on_search", at: func(c *Config) any { return &c.TouchOnSearch }, project: true},
		{name: "fusion", at: func(c *Config) any { return &c.Fusion }, words: []string{"weighted", "rrf"}, project: true},
		{name: "vector_index", at: func(c *Config) any { return &c.VectorIndex }, words: []string{"auto", "exact", "sketch", "hnsw", "coder-hnsw", "qdrant"}, project: true},
		{name: "evolve", at: func(c *Config) any { return &c.Evolve }, words: []string{"review", "auto", "off"}, project: true},
		{name: "sync.poll", at: func(c *Config) any { return &c.Sync.Poll }, min: 5, max: 7 * 86400, project: true},
		{name: "sync.idle_poll", at: func(c *Config) any { return &c.Sync.IdlePoll }, min: 5, max: 7 * 86400, project: true},
		{name: "commit.quiet", at: func(c *Config) any { return &c.Commit.Quiet }, min: 0, max: 60, project: true},
		{name: "embedding.provider", at: func(c *Config) any { return &c.Embedding.Provider }, project: true},
		{name: "embedding.model", at: func(c *Config) any { return &c.Embedding.Model }, project: true},
		{name: "embedding.dimension", at: func(c *Config) any { return &c.Embedding.Dimension }, min: 0, max: 65536, project: true},
		{name: "embedding.weight", at: func(c *Config) any { return &c.Embedding.Weight }, weight: true, project: true},
		{name: "qdrant.url", at: func(c *Config) any { return &c.Qdrant.URL }},
		{name: "qdrant.key_env", at: func(c *Config) any { return &c.Qdrant.KeyEnv }},
		{name: "qdrant.collection", at: func(c *Config) any { return &c.Qdrant.Collection }},
		{name: "rate.owner", at: func(c *Config) any { return &c.Rate.Owner }, min: 0, max: 1e6},
		{name: "rate.token", at: func(c *Config) any { return &c.Rate.Token }, min: 0, max: 1e6},
		{name: "rate.peer", at: func(c *Config) any { return &c.Rate.Peer }, min: 0, max: 1e6},
		{name: "webhooks.listen", at: func(c *Config) any { return &c.Webhooks.Listen }},
		{name: "webhooks.secret_env", at: func(c *Config) any { return &c.Webhooks.SecretEnv }, project: true},
		{name: "webhooks.secret_file", at: func(c *Config) any { return &c.Webhooks.SecretFile }, project: true},
		{name: "auth.required", at: func(c *Config) any { return &c.Auth.Required }},
		{name: "auth.url", at: func(c *Config) any { return &c.Auth.URL }},
		{name: "auth.session_idle", at: func(c *Config) any { return &c.Auth.SessionIdle }, min: 60, max: 365 * 86400},
		{name: "auth.session_max", at: func(c *Config) any { return &c.Auth.SessionMax }, min: 60, max: 365 * 86400},
		{name: "auth.tls_cert", at: func(c *Config) any { return &c.Auth.TLSCert }},
		{name: "auth.tls_key", at: func(c *Config) any { return &c.Auth.TLSKey }},
	}
}

func fileMemories() []string { return []string{"auto", "fold", "local"} }

func findKey(name string) (key, bool) {
	all := keys()
	if i := slices.IndexFunc(all, func(k key) bool { return k.name == name }); i >= 0 {
		return all[i], true
	}
	return key{}, false
}

// set gives the key a value: of the type TOML has for it, or text from the
// command line or the environment.
func (k key) set(c *Config, v any) error {
	switch p := k.at(c).(type) {
	case *string:
		if f, ok := v.(float64); ok && k.weight {
			v = strconv.FormatFloat(f, 'g', -1, 64)
		} else if n, ok := v.(int64); ok && k.weight {
			v = strconv.FormatInt(n, 10)
		}
		s, ok := v.(string)
		if !ok {
			return badType(v, "text in quotes")
		}
		if k.words != nil && !slices.Contains(k.words, s) {
			return fmt.Errorf("%q is not one of %s: %w", s, strings.Join(k.words, ", "), fold.ErrInvalid)
		}
		if w, err := strconv.ParseFloat(s, 64); k.weight && s != "auto" && (err != nil || !(w >= 0 && w <= 1)) {
			return fmt.Errorf("%q is neither auto nor a number from 0 to 1: %w", s, fold.ErrInvalid)
		}
		*p = s
	case *bool:
		b, ok := asBool(v)
		if !ok {
			return badType(v, "true or false")
		}
		*p = b
	case *int:
		f, ok := asNumber(v)
		if !ok || f != math.Trunc(f) {
			return badType(v, "a whole number")
		}
		if err := k.inRange(f); err != nil {
			return err
		}
		*p = int(f)
	case *float64:
		f, ok := asNumber(v)
		if !ok {
			return badType(v, "a number")
		}
		if err := k.inRange(f); err != nil {
			return err
		}
		*p = f
	case *time.Duration:
		s, ok := v.(string)
		if !ok {
			return badType(v, `a duration such as "60s"`)
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return badType(v, `a duration such as "60s"`)
		}
		if err := k.inRange(d.Seconds()); err != nil {
			return err
		}
		*p = d
	}
	return nil
}

func (k key) inRange(f float64) error {
	if math.IsNaN(f) || f < k.min || f > k.max {
		return fmt.Errorf("%g is not between %g and %g: %w", f, k.min, k.max, fold.ErrInvalid)
	}
	return nil
}

// text returns the key's value as it is shown.
func (k key) text(c *Config) string {
	switch p := k.at(c).(type) {
	case *string:
		return WithoutUser(*p) // a url may have a login in it
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *time.Duration:
		return p.String()
	}
	return ""
}

func asBool(v any) (b, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(v) {
		case "1", "true", "yes", "on":
			return true, true
		case "0", "false", "no", "off":
			return false, true
		}
	}
	return false, false
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

func badType(v any, want string) error {
	return fmt.Errorf("%.60q is not %s: %w", fmt.Sprint(v), want, fold.ErrInvalid)
}

// unknownKey returns the error for a key nobody knows, with the nearest that
// somebody does.
func unknownKey(where, name string) error {
	names := make([]string, 0, 64)
	for _, k := range keys() {
		names = append(names, k.name)
	}
	return unknownAmong(where, name, names)
}

func unknownAmong(where, name string, names []string) error {
	err := fmt.Errorf("%s: unknown key %q: %w", where, name, fold.ErrInvalid)
	if near := nearest(name, names); near != "" {
		err = fmt.Errorf("%s: unknown key %q, did you mean %q: %w", where, name, near, fold.ErrInvalid)
	}
	return err
}

// nearest returns the name with the smallest edit distance to s.
func nearest(s string, names []string) string {
	best, at := len(s)+1, ""
	for _, n := range names {
		d := distance(s, n)
		// auto-commit, autocommit and commit.auto_commit should all find it.
		if strings.HasSuffix(n, "."+s) || strings.HasSuffix(s, "."+n) || strings.HasPrefix(n, s+"_") {
			d = 1
		}
		if d < best {
			best, at = d, n
		}
	}
	return at
}

// distance is the edit distance of Levenshtein in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diag+cost)
		}
	}
	return row[len(b)]
}
