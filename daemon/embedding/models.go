// Package embedding opens the models that users chose to embed with, and keeps which of a
// checkout's vectors answer and which are built beside them.
package embedding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Models opens the models that the user chose, and keeps what is open: a model
// is loaded once, and a provider's budget and breaker hold for all projects.
type Models struct {
	dirs    conf.Dirs
	state   *state.DB
	cache   embed.Cache
	Builtin *embed.CachedEmbedder
	now     func() time.Time
	log     *slog.Logger

	mu      sync.Mutex // guards the fields below; not held while a model is opened
	cfg     conf.Config
	clients map[string]*openClient // by name of the provider
	models  map[string]*openModel  // by what was chosen
}

// New returns models with no model open but the builtin one.
func New(cfg conf.Config, dirs conf.Dirs, db *state.DB, cache embed.Cache, builtin *embed.CachedEmbedder, now func() time.Time, log *slog.Logger) *Models {
	return &Models{
		dirs: dirs, state: db, cache: cache, Builtin: builtin, now: now, log: log,
		cfg: cfg, clients: map[string]*openClient{}, models: map[string]*openModel{},
	}
}

// openClient is a client, with what it was made from.
type openClient struct {
	from   conf.Provider
	key    string
	client *provider.Client
}

// openModel is a model that is open or being opened.
type openModel struct {
	opening  sync.Mutex // guards the fields below
	embedder *embed.CachedEmbedder
}

// builtinProvider and localProvider are the names of what needs no provider.
const (
	BuiltinProvider = "builtin"
	LocalProvider   = "local"
)

// A Choice is the model that the user chose for a project.
type Choice struct {
	Slug     string
	Name     string // of the provider; builtin, local
	Provider conf.Provider
	url      string
	Model    string // of local: the folder
	dim      int
	Refused  error // why it may not be used, nil if it may
}

// Spec names the choice: another one is another model. Two projects with the same
// share it, but for consent.
func (c Choice) Spec() string {
	if c.Name == BuiltinProvider {
		return BuiltinProvider
	}
	return fmt.Sprintf("%s %s %s %d", c.Name, c.url, c.Model, c.dim)
}

// Remote reports whether texts would leave this machine.
func (c Choice) Remote() bool {
	return c.Name != BuiltinProvider && c.Name != LocalProvider && (!provider.IsLocal(c.url) || cloudModel(c.Provider.Kind, c.Model))
}

// cloudModel reports whether Ollama on this machine would only pass the texts on.
func cloudModel(kind, model string) bool {
	return kind == "ollama" && (strings.HasSuffix(model, "-cloud") || strings.HasSuffix(model, ":cloud"))
}

// clientName is under which the client of a choice is kept.
func (c Choice) clientName() string {
	if cloudModel(c.Provider.Kind, c.Model) {
		return c.Name + " cloud" // the same program, but not this machine
	}
	return c.Name
}

// Where says in a person's words where texts go.
func (c Choice) Where() string {
	switch {
	case !c.Remote():
		return "this machine"
	case provider.IsLocal(c.url):
		return "Ollama's cloud"
	}
	_, rest, _ := strings.Cut(c.url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Reload takes over what the user file says now about models and consent.
func (e *Models) Reload(cfg conf.Config) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg = cfg
	for _, c := range e.clients {
		c.client.Reset() // the user may just have mended it
	}
}

func (e *Models) Config(slug string) conf.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cfg.For(slug)
}

// Choice returns what the user chose for a project, and whether it may be used.
func (e *Models) Choice(slug string) Choice {
	cfg := e.Config(slug)
	c := Choice{Slug: slug, Name: cfg.Embedding.Provider, Model: cfg.Embedding.Model, dim: cfg.Embedding.Dimension}
	switch c.Name {
	case "", BuiltinProvider:
		return Choice{Slug: slug, Name: BuiltinProvider}
	case LocalProvider:
		if c.dim = 0; !filepath.IsAbs(c.Model) {
			c.Model = filepath.Join(e.dirs.Models(), filepath.FromSlash(c.Model))
		}
		return c
	}
	p, ok := cfg.Provider(c.Name)
	if !ok || embed.DefaultURL(p.Kind) == "" {
		c.Refused = fold.WithHint(fmt.Errorf("there is no provider of embeddings called %q: %w", c.Name, fold.ErrInvalid), "foldwatch model list")
		return c
	}
	c.Provider, c.url = p, p.URL
	if c.url == "" {
		c.url = embed.DefaultURL(p.Kind)
	}
	if c.Model == "" {
		c.Model = p.Model
	}
	if c.Model == "" {
		c.Model = embed.DefaultModel(p.Kind)
	}
	if c.Remote() {
		c.Refused = consent(cfg, c.Name, slug)
	}
	return c
}

// consent is nil if the user allowed a project to send texts to a provider.
func consent(cfg conf.Config, name, slug string) error {
	if slices.Contains(cfg.Allowed, name) {
		return nil
	}
	return fold.WithHint(fmt.Errorf("project %s may not send anything to %s: %w", slug, name, fold.ErrForbidden),
		fmt.Sprintf("foldwatch provider allow %s -p %s", name, slug))
}

// Open opens the model of a choice. Known is what was learned about it before, nil
// if nothing was: then a provider is asked.
func (e *Models) Open(ctx context.Context, c Choice, known *embed.Identity) (*embed.CachedEmbedder, error) {
	if c.Refused != nil {
		return nil, c.Refused
	}
	if c.Name == BuiltinProvider {
		return e.Builtin, nil
	}
	key := c.Spec()
	if c.Name != LocalProvider {
		key += " for " + c.Slug // each asks on its own behalf
	}
	e.mu.Lock()
	m := e.models[key]
	if m == nil {
		m = &openModel{}
		e.models[key] = m
	}
	e.mu.Unlock()
	m.opening.Lock()
	defer m.opening.Unlock()
	if m.embedder != nil && (c.Name == LocalProvider || e.current(c)) {
		return m.embedder, nil
	}
	inner, err := e.load(ctx, c, known)
	if err != nil {
		return nil, err
	}
	m.embedder = embed.Cached(inner, e.cache)
	return m.embedder, nil
}

// current reports whether the client of a provider is still as it would be made.
func (e *Models) current(c Choice) bool {
	key, err := e.Config(c.Slug).ReadKey(c.Provider)
	e.mu.Lock()
	defer e.mu.Unlock()
	open := e.clients[c.clientName()]
	return err == nil && open != nil && open.from == c.Provider && open.key == key
}

func (e *Models) load(ctx context.Context, c Choice, known *embed.Identity) (embed.Embedder, error) {
	if c.Name == LocalProvider {
		return embed.OpenLocal(ctx, c.Model)
	}
	client, err := e.client(c)
	if err != nil {
		return nil, err
	}
	return embed.OpenRemote(ctx, embed.RemoteOptions{
		Name: c.Name, Kind: c.Provider.Kind, URL: c.Provider.URL, Model: c.Model, Dim: c.dim, Project: c.Slug, Client: client,
	}, known)
}

// client returns the one client of a provider.
func (e *Models) client(c Choice) (*provider.Client, error) {
	cfg := e.Config(c.Slug)
	key, err := cfg.ReadKey(c.Provider)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Name, err)
	}
	if key == "" && c.Remote() && c.Provider.KeyEnv != "" {
		return nil, fold.WithHint(fmt.Errorf("provider %s: %s is not set where the daemon was started: %w", c.Name, c.Provider.KeyEnv, fold.ErrForbidden),
			"set it and start the daemon again, or name a file that holds the key: key_file under [providers."+c.Name+"]")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := c.clientName()
	if open := e.clients[name]; open != nil && open.from == c.Provider && open.key == key {
		return open.client, nil
	}
	opt := provider.Options{
		Name: c.Name, URL: c.url, Key: provider.Key(key), Now: e.now,
		Daily:  provider.Budget{Texts: int64(c.Provider.DailyTexts), Tokens: int64(c.Provider.DailyTokens)},
		Ledger: ledger{e.state}, Audit: e.audit, Forwards: cloudModel(c.Provider.Kind, c.Model),
		Allowed: func(slug string) error { return consent(e.Config(slug), c.Name, slug) },
	}
	if c.Provider.Kind == "gemini" {
		opt.KeyHeader = "x-goog-api-key"
	}
	client, err := provider.New(opt)
	if err != nil {
		return nil, err
	}
	e.clients[name] = &openClient{c.Provider, key, client}
	return client, nil
}

// Held reports whether the provider of a choice is left alone, and until when.
func (e *Models) Held(c Choice) (until time.Time, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	open := e.clients[c.clientName()]
	if open == nil {
		return time.Time{}, false
	}
	return open.client.Held()
}

func (e *Models) audit(ctx context.Context, r provider.Record) error {
	e.log.InfoContext(ctx, "Sent to a provider", "project", r.Project, "provider", r.Provider, "host", r.Host, "texts", r.Texts, "bytes", r.Bytes, "outcome", r.Outcome)
	return e.state.AddAudit(ctx, state.Audit{
		At: r.At, Slug: r.Project, Host: r.Host, Action: fmt.Sprintf("%s: %d texts", r.Provider, r.Texts), Bytes: r.Bytes, Outcome: r.Outcome,
	})
}

// Counters sums up what all models did.
func (e *Models) Counters() (hits, misses, calls int64) {
	e.mu.Lock()
	models := make([]*openModel, 0, len(e.models))
	for _, m := range e.models {
		models = append(models, m)
	}
	e.mu.Unlock()
	add := func(c *embed.CachedEmbedder) {
		hits, misses, calls = hits+c.Hits(), misses+c.Misses(), calls+c.Calls()
	}
	add(e.Builtin)
	for _, m := range models {
		if m.opening.TryLock() { // one that is being opened did nothing yet
			if m.embedder != nil {
				add(m.embedder)
			}
			m.opening.Unlock()
		}
	}
	return hits, misses, calls
}

// Spent returns what was sent to a provider today, nothing if it was not asked.
func (e *Models) Spent(ctx context.Context, name string) provider.Spent {
	s, err := ledger{e.state}.Spent(ctx, name)
	if err != nil || s.Day != e.now().UTC().Format(time.DateOnly) {
		return provider.Spent{}
	}
	return s
}

// A ledger keeps what was spent among the facts.
type ledger struct{ state *state.DB }

func (l ledger) Spent(ctx context.Context, name string) (s provider.Spent, err error) {
	text, err := l.state.Fact(ctx, "provider "+name, "spent")
	if err != nil || text == "" {
		return s, err
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("what was spent at %s cannot be read: %w", name, err)
	}
	return s, nil
}

func (l ledger) SetSpent(ctx context.Context, name string, s provider.Spent) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return l.state.SetFact(ctx, "provider "+name, "spent", string(b))
}

// A patient embedder answers queries in time or not at all: words answer anyway.
// What went wrong is told to failed, nil when it went well again.
type patient struct {
	embed.Embedder
	most   time.Duration
	failed func(error)
}

// ForQueries returns e for queries; failed is told of each error, and of nil.
func ForQueries(e embed.Embedder, failed func(error)) embed.Embedder {
	return patient{e, queryPatience, failed}
}

// queryPatience is how long a search waits for the vector of its question.
const queryPatience = 1500 * time.Millisecond

func (p patient) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	bound, cancel := context.WithTimeout(ctx, p.most)
	defer cancel()
	vecs, err := p.Embedder.Embed(bound, texts, kind)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it did not answer within %s", p.most)
	}
	p.failed(err)
	if err != nil {
		return make([][]float32, len(texts)), nil
	}
	return vecs, nil
}
