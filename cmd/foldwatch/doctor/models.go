package doctor

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// dialPatience bounds the wait for a provider to take a connection.
const dialPatience = 3 * time.Second

// checkEmbedder looks whether the models that the user chose can be reached and
// give vectors of the length that was asked for. It connects, and sends nothing.
func checkEmbedder(ctx context.Context, x *exam) []Result {
	var found []Result
	text := x.daemon.Embedder
	seen := map[string]bool{}
	for _, pr := range x.daemon.Projects {
		m := pr.Embedder
		cfg := x.settings.Config.For(pr.Slug)
		want := cfg.Embedding
		if m == nil {
			continue
		}
		text = m.Provider + " " + m.Model + ", " + terminal.Plural(m.Dimension, "dimension")
		if n := want.Dimension; n > 0 && m.Dimension != n && m.Provider == want.Provider {
			found = append(found, Fault("set embedding.dimension to what the model gives, then: foldwatch model use "+want.Provider+"/"+want.Model,
				"%s: embedding.dimension is %d, and the vectors that answer have %d", pr.Slug, n, m.Dimension))
		}
		if m.HeldUntil != nil {
			found = append(found, Fault("foldwatch model use "+terminal.Quote(m.Provider+"/"+m.Model), "%s: %s failed too often, or asked for time, and is asked again at %s", pr.Slug, m.Provider, m.HeldUntil.Local().Format(time.TimeOnly)))
		}
		at, chosen := x.providerURL(want.Provider)
		if !chosen || seen[at] {
			continue
		}
		if !provider.IsLocal(at) && (!slices.Contains(cfg.Allowed, want.Provider) || x.proxied(at)) {
			continue // it is not called at all, or by way of another
		}
		seen[at] = true
		if err := reach(ctx, at); err != nil {
			found = append(found, Fault("start it, or choose another: foldwatch model list", "%s: %s at %s cannot be reached: %v", pr.Slug, want.Provider, conf.WithoutUser(at), err))
		}
	}
	return OrPass(found, "%s", text)
}

// providerURL is where a provider of the user file is; false for the builtin and
// local ones.
func (x *exam) providerURL(name string) (string, bool) {
	pr, known := x.settings.Config.Providers[name]
	if !known {
		return "", false
	}
	if pr.URL != "" {
		return pr.URL, true
	}
	at := embed.DefaultURL(pr.Kind)
	return at, at != ""
}

// proxied reports whether the daemon may call a URL by way of a proxy: what NO_PROXY
// leaves out of that is not looked into.
func (x *exam) proxied(at string) bool {
	getenv, _ := x.environment()
	name := "HTTP_PROXY"
	if strings.HasPrefix(at, "https:") {
		name = "HTTPS_PROXY"
	}
	return getenv(name) != "" || getenv(strings.ToLower(name)) != ""
}

// reach connects to the host of a URL and lets go.
func reach(ctx context.Context, at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return errors.New("its address cannot be read") // what url says has all of it
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // net knows http and https by name
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return c.Close()
}

// checkIndex compares the files of every project with its rows, documents and vectors.
func checkIndex(ctx context.Context, x *exam) []Result {
	var found []Result
	rows, seen := 0, map[string]bool{}
	for _, pr := range x.daemon.Projects {
		if seen[pr.Slug] || pr.State != "ready" && pr.State != "indexing" && pr.State != "paused" && pr.State != stateStarting {
			continue
		}
		seen[pr.Slug] = true
		if pr.State == stateStarting {
			found = append(found, Skip("%s is still opening", pr.Slug))
			continue
		}
		if pr.State == "indexing" || pr.Queued > 0 {
			found = append(found, Skip("%s is being indexed", pr.Slug))
			continue
		}
		d, err := x.drift(ctx, pr.Slug)
		if err != nil {
			found = append(found, Warning("foldwatch status -p "+terminal.Quote(pr.Slug), "%s: %v", pr.Slug, err))
			continue
		}
		rows += d.Memories + d.Chunks
		if d.Queued > 0 && differs(d) {
			found = append(found, Skip("%s is being indexed", pr.Slug))
			continue
		}
		what := strings.Join(append(d.Differences, d.Behind...), "; ")
		switch {
		case len(d.Differences) > 0: // one Result: one rebuild mends them all
			found = append(found, Fault("foldwatch rebuild -p "+terminal.Quote(pr.Slug), "%s: %s", pr.Slug, what).
				remediedBy("rebuild the index of "+pr.Slug+" from its files", func(ctx context.Context) error {
					return x.host.Reindex(ctx, x.client, pr.Slug, wire.Reindex{Rebuild: true})
				}))
		case len(d.Behind) > 0:
			found = append(found, Fault("foldwatch index -p "+terminal.Quote(pr.Slug), "%s: %s", pr.Slug, what).
				remediedBy("bring the index of "+pr.Slug+" up to its files", func(ctx context.Context) error { return x.host.Reindex(ctx, x.client, pr.Slug, wire.Reindex{}) }))
		}
		if d.VectorsDue > 0 {
			found = append(found, Warning("they come by themselves; why not: foldwatch jobs -p "+terminal.Quote(pr.Slug), "%s: vectors of %s are still to come", pr.Slug, terminal.Plural(d.VectorsDue, "memory")))
		}
	}
	return OrPass(found, "%s and chunks: the files on disk, rows, words and vectors agree", terminal.Plural(rows, "memory"))
}

// driftPause is how long a difference lasts, at least, before it is one: a file that
// was just saved is not in the index yet.
const driftPause = time.Second

// drift compares a project's index with its files, and looks again where it differs.
func (x *exam) drift(ctx context.Context, slug string) (wire.Drift, error) {
	look := func() (wire.Drift, error) {
		return local.Answer(ctx, x.host.DriftTimeout, func(ctx context.Context) (wire.Drift, error) { return x.client.Drift(ctx, slug) })
	}
	d, err := look()
	if err != nil || !differs(d) {
		return d, err
	}
	if err := x.host.Wait(ctx, driftPause); err != nil {
		return d, err
	}
	return look()
}

// differs reports whether something is to be mended.
func differs(d wire.Drift) bool { return len(d.Differences)+len(d.Behind) > 0 }
