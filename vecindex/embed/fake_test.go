package embed_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/vecindex/embed"
	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// A fake is a provider, and how it is opened.
type fake struct{ *embedtest.Provider }

func fakes() (all []*fake) {
	for _, p := range embedtest.Providers() {
		all = append(all, &fake{p})
	}
	return all
}

func (f *fake) open(t *testing.T) *embed.Remote {
	t.Helper()
	r, err := f.tryOpen(t, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Asked = nil // the probe
	return r
}

func (f *fake) tryOpen(t *testing.T, dim int, known *embed.Identity) (*embed.Remote, error) {
	t.Helper()
	opt := provider.Options{
		Name: f.Kind, URL: embed.DefaultURL(f.Kind), Key: provider.Key(f.Key), Transport: f,
		Allowed: func(string) error { return nil }, Jitter: func() float64 { return 0 },
	}
	if f.Kind == "gemini" {
		opt.KeyHeader = "x-goog-api-key"
	}
	c, err := provider.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return embed.OpenRemote(t.Context(), embed.RemoteOptions{Name: f.Kind, Kind: f.Kind, Model: f.Model, Dim: dim, Project: "app", Client: c}, known)
}
