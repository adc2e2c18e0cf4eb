package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// scriptProviders starts one provider of each kind on this machine, and writes the
// user file that has them and their keys' variables. What they answer is near for
// texts with a word in it that no embedder knows: otter, and zqxw.
func scriptProviders(ts *testscript.TestScript, _ bool, _ []string) {
	all := map[string]*embedtest.Provider{}
	config := "[embedding]\nweight = 0.3\n"
	for _, p := range embedtest.Providers() {
		p.Also, p.Vector = []string{"big-cloud"}, nearOtters(p.Dim)
		url, stop := p.Start()
		ts.Defer(stop)
		all[p.Kind] = p
		if p.Key == "" {
			config += fmt.Sprintf("[providers.%s]\nkind = %[1]q\nurl = %q\n", p.Kind, url)
			continue
		}
		key := "FAKE_KEY_OF_" + strings.ToUpper(p.Kind)
		ts.Setenv(key, p.Key)
		config += fmt.Sprintf("[providers.%s]\nkind = %[1]q\nurl = %q\nkey_env = %q\n", p.Kind, url+"/v1", key)
	}
	file := filepath.Join(ts.Getenv("FOLDWATCH_HOME"), "config", "config.toml")
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, []byte(config), 0o600))
	*ts.Value(providersKey{}).(*map[string]*embedtest.Provider) = all
}

// providersKey is what the providers of a script are kept under.
type providersKey struct{}

// nearOtters is a model that puts all otters on one axis and every other text on
// another.
func nearOtters(dim int) func(string) []float32 {
	return func(text string) []float32 {
		v := make([]float32, dim)
		if text = strings.ToLower(text); strings.Contains(text, "otter") || strings.Contains(text, "zqxw") {
			v[0] = 2
			return v
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(text)) // never fails
		v[1+int(h.Sum32())%(dim-1)] = 2
		return v
	}
}

// scriptBroken KIND FAULT has a provider fail, see [embedtest.AllBroken]; "reversed"
// answers in another order, and none is well again.
func scriptBroken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: broken KIND [FAULT]")
	}
	p := (*ts.Value(providersKey{}).(*map[string]*embedtest.Provider))[args[0]]
	switch {
	case len(args) == 1:
		p.Break(embedtest.Faults{})
	case args[1] == "reversed":
		p.Break(embedtest.Faults{Shape: func(items []any) []any { slices.Reverse(items); return items }})
	default:
		p.Break(embedtest.BrokenBy(args[1]).Faults(p))
	}
}
