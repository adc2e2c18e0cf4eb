package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Config is what the user decided, with defaults for the rest. The zero
// value is not usable; see [Default].
type Config struct {
	Listen         string // "" = socket only; else host:port
	LogLevel       string // debug, info, warn, error
	AutoStart      bool
	AutoCommit     bool
	RebuildOnStart bool
	Describe       string // default-branch, worktree
	FileMemories   string // auto, fold, local
	CommitMemories bool   // new commits become memories
	MaxFileKB      int
	CacheMaxMB     int // of chunks and vectors that were computed, for all projects
	Chunk          Chunk

	StrengthWeight    float64 // of strength in the score, 0–1
	DecayHalfLifeDays float64
	RecallHalfLife    string // "" = DecayHalfLifeDays; else as [HalfLife] reads it
	DecayArchive      string // off, daily
	TouchOnSearch     bool
	Fusion            string // weighted, rrf
	VectorIndex       string // auto, exact, sketch, hnsw, coder-hnsw, qdrant
	Evolve            string // review, auto, off

	Sync      Sync
	Commit    Commit
	Embedding Embedding
	Qdrant    Qdrant
	Rate      Rate
	Webhooks  Webhooks
	Auth      Auth

	Providers map[string]Provider // by name
	Allowed   []string            // providers the project may use; set by [Config.For]

	projects map[string][]setting // [projects.<slug>]
	fixed    map[string]bool      // keys set by flag or environment
	keys     map[string]string    // values of the environment's own provider keys, by variable
}

// Chunk says how source is cut. Lines count from 1.
type Chunk struct {
	Enabled     bool
	MinLines    int // shorter nodes are merged unless they have a name
	MaxLines    int // longer nodes are split
	LineSize    int // of a chunk where no grammar is known
	LineOverlap int
}

// Sync says how often the remote is asked.
type Sync struct {
	Poll     time.Duration // while the checkout is in use
	IdlePoll time.Duration // otherwise
}

// Commit says when settled changes become a commit.
type Commit struct {
	Quiet time.Duration
}

// Embedding names the model that turns text into vectors. An empty provider is
// the builtin one, "local" a folder on this machine.
type Embedding struct {
	Provider  string
	Model     string // of local: a folder, or the name of one below [Dirs.Models]
	Dimension int    // 0 = what the model gives
	// Weight is how much nearness counts beside words: "auto" is what was measured
	// on the checkout, nothing while it was not; else a number in [0, 1].
	Weight string
}

// FixedWeight returns the weight that the user decided, or false for auto.
func (e Embedding) FixedWeight() (float64, bool) {
	w, err := strconv.ParseFloat(e.Weight, 64)
	return w, err == nil
}

// Qdrant is the outside vector store; nothing is sent while URL is "".
type Qdrant struct {
	URL        string
	KeyEnv     string // variable that holds the key
	Collection string // prefix of the collections' names
}

// Rate says how many requests a second are answered on the long run, 0 being any
// number; ten seconds' worth may come at once.
type Rate struct {
	Owner int // the user, at the socket
	Token int // each token
	Peer  int // each address that connects over TCP
}

// Webhooks is the listener that only takes webhooks; off while Listen is "".
type Webhooks struct {
	Listen    string
	SecretEnv string // variable that holds the secret of the signatures
	// SecretFile is a file that holds nothing but the secret, and that only its
	// owner can read: what the system starts has not the environment of a session.
	SecretFile string
}

// Auth says who may log in over TCP.
type Auth struct {
	Required    bool // the user knows that listen lets other machines ask, each with a token; loopback needs one in any case
	URL         string
	SessionIdle time.Duration
	SessionMax  time.Duration
	TLSCert     string // PEM files
	TLSKey      string
	Providers   map[string]AuthProvider
}

// An AuthProvider is one that people log in by.
type AuthProvider struct {
	Kind         string // oidc or github; "" is oidc
	Name         string // as people call it
	Issuer       string
	ClientID     string
	ClientSecret string // from the environment only
	SecretEnv    string // variable that holds ClientSecret
	SecretFile   string // file that holds it, and that only its owner can read
	Scopes       []string
	Disabled     bool
	// RoleClaim is the claim whose values give roles: those of Admin, of Member
	// and of Viewer, "*" being whoever can log in. Projects are the slugs that the
	// roles are for; none is all.
	RoleClaim             string
	Admin, Member, Viewer []string
	Projects              []string
}

// texts are the keys of a provider that have one value, by their names.
func (p *AuthProvider) texts() map[string]*string {
	return map[string]*string{"type": &p.Kind, "name": &p.Name, "issuer": &p.Issuer, "client_id": &p.ClientID, "secret_env": &p.SecretEnv, "secret_file": &p.SecretFile, "role_claim": &p.RoleClaim}
}

// lists are the keys of a provider that have several, by their names.
func (p *AuthProvider) lists() map[string]*[]string {
	return map[string]*[]string{"scopes": &p.Scopes, "admin": &p.Admin, "member": &p.Member, "viewer": &p.Viewer, "projects": &p.Projects}
}

// A Provider is a model endpoint the user has named.
type Provider struct {
	Kind   string // gemini, anthropic, openai, openrouter, ollama, voyage
	URL    string
	Model  string
	KeyEnv string // variable that holds the key; it never stands in this file
	// KeyFile is a file that holds nothing but the key and that only its owner can
	// read, for a daemon that does not start from a shell.
	KeyFile string
	// DailyTexts and DailyTokens bound what is sent in one day (UTC); 0 is no bound.
	DailyTexts  int
	DailyTokens int
}

// An Origin says which value a key has and who set it.
type Origin struct {
	Key   string
	Value string // "(set)" for a secret
	From  string // "flag", "FOLDWATCH_LISTEN", "/path/config.toml:3", "default"
}

// Default returns the configuration of a machine on which nobody decided
// anything.
func Default() Config {
	return Config{
		LogLevel:       "info",
		AutoStart:      true,
		AutoCommit:     true,
		Describe:       "default-branch",
		FileMemories:   "auto",
		CommitMemories: true,
		MaxFileKB:      1024,
		CacheMaxMB:     1024,
		Chunk:          Chunk{Enabled: true, MinLines: 5, MaxLines: 200, LineSize: 50, LineOverlap: 10},

		StrengthWeight:    0.05,
		DecayHalfLifeDays: 30,
		DecayArchive:      "off",
		Fusion:            "weighted",
		VectorIndex:       "auto",
		Evolve:            "review",

		Sync:      Sync{Poll: time.Minute, IdlePoll: 15 * time.Minute},
		Commit:    Commit{Quiet: 300 * time.Millisecond},
		Embedding: Embedding{Weight: "auto"},
		Qdrant:    Qdrant{Collection: "foldwatch", KeyEnv: "QDRANT_API_KEY"},
		Rate:      Rate{Owner: 10_000, Token: 50, Peer: 100},
		Auth:      Auth{SessionIdle: 12 * time.Hour, SessionMax: 7 * 24 * time.Hour},

		Providers: map[string]Provider{},
	}
}

// Load reads the user file at path, which may be absent, and lays over it the
// environment (as os.Environ gives it) and the flags (key → value as text).
// Precedence: flag, FOLDWATCH_* variable, file, default; a variable of the
// seeds (QDRANT_URL, EMBEDDING_*, …) stands below the file. The origins name
// every key that has a value, sorted.
//
// It returns a [*SettingsError], which is ErrInvalid, for syntax errors, unknown keys
// and values that cannot be. Config and origins are then those without what is wrong:
// enough to show and to look for a daemon by, not to serve with.
func Load(path string, env []string, flags map[string]string) (Config, []Origin, error) {
	var b []byte
	var unread error
	if path != "" {
		var err error
		b, err = os.ReadFile(path)
		// A home that is no folder, such as /dev/null, has no file either.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			unread = fold.WithHint(fmt.Errorf("read config: %w", err), "have "+quoted(path)+" be a file that you can read")
		}
	}
	c, origins, err := parse(path, b, env, flags)
	if unread == nil {
		return c, origins, err
	}
	return c, origins, &SettingsError{append([]error{unread}, ErrorList(err)...)}
}

// parse is Load of a file that was read.
func parse(path string, b []byte, env []string, flags map[string]string) (Config, []Origin, error) {
	c := Default()
	c.projects, c.fixed, c.keys = map[string][]setting{}, map[string]bool{}, map[string]string{}
	c.Auth.Providers = map[string]AuthProvider{}
	from := map[string]string{}

	errs := c.applyForeignEnv(env, from)
	inFile := func(err error) {
		if err != nil {
			errs = append(errs, fold.WithHint(err, "edit "+quoted(path)))
		}
	}
	settings, err := readTOML(path, b)
	inFile(err)
	for _, s := range settings {
		inFile(c.applyFile(s, from))
	}
	errs = append(errs, c.applyEnv(env, from)...)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		k, ok := findKey(name)
		if !ok {
			errs = append(errs, unknownKey("flag", name))
			continue
		}
		if err := k.set(&c, flags[name]); err != nil {
			errs = append(errs, fmt.Errorf("flag %s: %w", name, err))
			continue
		}
		from[name], c.fixed[name] = "flag", true
	}
	inFile(c.check(func(key string) string { return from[key] }))
	for _, slug := range c.ProjectSlugs() {
		of := c.For(slug)
		inFile(of.check(func(key string) string {
			at := from["projects."+slug+"."+key]
			if at != "" {
				at += ": projects." + slug
			}
			return at
		}))
	}
	if len(errs) > 0 {
		return c, c.origins(from), &SettingsError{errs}
	}
	return c, c.origins(from), nil
}

// For returns the configuration as it holds for one project: what stands under
// [projects.<slug>] is laid over the rest, below flags and environment.
func (c Config) For(slug string) Config {
	ownSecret := false
	for _, s := range c.projects[slug] {
		name := s.path[len(s.path)-1]
		if len(s.path) > 3 {
			name = strings.Join(s.path[2:], ".")
		}
		if name == "providers" {
			c.Allowed, _ = s.value.([]string)
			continue
		}
		if k, ok := findKey(name); ok && !c.fixed[name] {
			if !ownSecret && (name == "webhooks.secret_env" || name == "webhooks.secret_file") {
				ownSecret = true // one of its own, wherever it is
				c.forgetSecret()
			}
			_ = k.set(&c, s.value) // checked by parse
		}
	}
	return c
}

// forgetSecret takes out where the secret of webhooks is, but for what flags and
// environment say of it.
func (c *Config) forgetSecret() {
	if !c.fixed["webhooks.secret_env"] {
		c.Webhooks.SecretEnv = ""
	}
	if !c.fixed["webhooks.secret_file"] {
		c.Webhooks.SecretFile = ""
	}
}

// WithoutProjects returns the configuration without what it says of single
// projects, and without consent: for a copy of one, which is another project.
func (c Config) WithoutProjects() Config {
	c.projects, c.Allowed = nil, nil
	return c
}

// ProjectSlugs returns the slugs that have a section of their own, sorted.
func (c Config) ProjectSlugs() []string { return slices.Sorted(maps.Keys(c.projects)) }

// Sets reports whether flag, environment or user file decide key for slug, so
// that the project file has no say.
func (c Config) Sets(slug, key string, origins []Origin) bool {
	for _, s := range c.projects[slug] {
		if s.path[len(s.path)-1] == key {
			return true
		}
	}
	for _, o := range origins {
		if o.Key == key {
			return o.From != "default"
		}
	}
	return false
}

// Provider returns the provider called name: as the user file describes it, or
// a well-known one with its usual key variable. It says nothing about whether
// a project may use it; see Allowed.
func (c Config) Provider(name string) (Provider, bool) {
	p, ok := c.Providers[name]
	known, isKnown := wellKnown(name)
	if !ok {
		return known, isKnown
	}
	if p.Kind == "" && isKnown {
		p.Kind = known.Kind
	}
	if base, is := wellKnown(p.Kind); is {
		if p.KeyEnv == "" && p.KeyFile == "" && p.URL == "" {
			p.KeyEnv = base.KeyEnv
		}
	}
	return p, true
}

// Key returns the value of the provider's key variable, or "".
func (c Config) Key(p Provider) string { return c.keys[p.KeyEnv] }

// ReadKey returns the provider's key: of its variable, else of its file, "" if it
// names neither or the variable is not set. It returns ErrForbidden if others can
// read the file, and ErrInvalid if that is no key.
func (c Config) ReadKey(p Provider) (string, error) {
	if k := c.Key(p); k != "" || p.KeyFile == "" {
		return k, nil
	}
	return readSecret("key_file", p.KeyFile)
}

// WebhookSecret returns the secret by which webhooks are signed: of its variable,
// else of its file, which is read anew each time; "" if neither is named or the
// variable is not set. Its errors are those of [Config.ReadKey].
func (c Config) WebhookSecret() (string, error) {
	if k := c.keys[c.Webhooks.SecretEnv]; k != "" || c.Webhooks.SecretFile == "" {
		return k, nil
	}
	return readSecret("webhooks.secret_file", c.Webhooks.SecretFile)
}

// ReadSecret returns the secret of the client: of the environment, else of its file.
// Its errors are those of [Config.ReadKey].
func (p AuthProvider) ReadSecret() (string, error) {
	if p.ClientSecret != "" || p.SecretFile == "" {
		return p.ClientSecret, nil
	}
	return readSecret("secret_file", p.SecretFile)
}

func wellKnown(name string) (Provider, bool) {
	switch name {
	case "gemini":
		return Provider{Kind: name, KeyEnv: "GOOGLE_API_KEY"}, true
	case "anthropic":
		return Provider{Kind: name, KeyEnv: "ANTHROPIC_API_KEY"}, true
	case "openai":
		return Provider{Kind: name, KeyEnv: "OPENAI_API_KEY"}, true
	case "openrouter":
		return Provider{Kind: name, KeyEnv: "OPENROUTER_API_KEY"}, true
	case "voyage":
		return Provider{Kind: name, KeyEnv: "VOYAGE_API_KEY"}, true
	case "ollama":
		return Provider{Kind: name}, true
	}
	return Provider{}, false
}

// check holds what one key alone cannot say. Where tells who set a key, "" if nobody
// did at this place: what nobody sets there is wrong elsewhere, or nowhere.
func (c *Config) check(where func(key string) string) error {
	wrong := func(err error, keys ...string) error {
		for _, k := range keys {
			at := where(k)
			switch {
			case at == "":
				continue
			case !strings.Contains(at, ":") && at != "flag": // no line of the file
				return variableError(at, err)
			}
			return fmt.Errorf("%s: %w", at, err)
		}
		return nil
	}
	switch {
	case c.Chunk.MinLines > c.Chunk.MaxLines:
		return wrong(fmt.Errorf("chunk.min_lines %d is above chunk.max_lines %d: %w", c.Chunk.MinLines, c.Chunk.MaxLines, fold.ErrInvalid), "chunk.min_lines", "chunk.max_lines")
	case c.Chunk.LineOverlap >= c.Chunk.LineSize:
		return wrong(fmt.Errorf("chunk.line_overlap %d is not below chunk.line_size %d: %w", c.Chunk.LineOverlap, c.Chunk.LineSize, fold.ErrInvalid), "chunk.line_overlap", "chunk.line_size")
	case (c.Auth.TLSCert == "") != (c.Auth.TLSKey == ""):
		return wrong(fmt.Errorf("auth.tls_cert and auth.tls_key go together: %w", fold.ErrInvalid), "auth.tls_cert", "auth.tls_key")
	}
	if c.RecallHalfLife != "" {
		if _, err := HalfLife(c.RecallHalfLife); err != nil {
			return wrong(fmt.Errorf("recall_half_life: %w", err), "recall_half_life")
		}
	}
	return nil
}

// HalfLife reads a half-life: a number of days ("30", "30d") or a duration
// ("24h").
func HalfLife(s string) (time.Duration, error) {
	var days float64
	if _, err := fmt.Sscanf(strings.TrimSuffix(s, "d")+"\n", "%g\n", &days); err == nil && days > 0 && days <= 36500 {
		return time.Duration(days * 24 * float64(time.Hour)), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%q is neither days nor a duration such as 24h: %w", s, fold.ErrInvalid)
}
