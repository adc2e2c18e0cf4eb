package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// A fakeOllama gives vectors, of 16 dimensions unless Vector is set before the first
// request. It can be held, and be broken.
type fakeOllama struct {
	*embedtest.Provider

	URL string
}

func newFakeOllama(t *testing.T) *fakeOllama {
	p := &embedtest.Provider{Kind: "ollama", Model: "tiny", Also: []string{"big-cloud"}, Vector: byLetters}
	return &fakeOllama{p, p.Serve(t)}
}

// byLetters makes a vector of the first letters of words.
func byLetters(text string) []float32 {
	v := make([]float32, 16)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		v[int(word[0])%16]++
	}
	v[0] += .01
	return v
}

// choose writes the user file and has the daemon take it over.
func (p *project) choose(text string) wire.ProjectEmbedder {
	p.t.Helper()
	path := filepath.Join(p.home, "config", "config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	list, err := p.d.ReloadModels(p.ctx(), local())
	if err != nil || len(list.Items) != 1 {
		p.t.Fatalf("ReloadModels = %+v, %v", list, err)
	}
	if p.cfg, err = p.reload(); err != nil {
		p.t.Fatal(err)
	}
	return list.Items[0]
}

func newModelProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	m := newMachineWith(t, t.TempDir(), func(m *machine) {
		m.reload = func() (conf.Config, error) {
			cfg, _, err := conf.Load(filepath.Join(m.home, "config", "config.toml"), nil, nil)
			return cfg, err
		}
	})
	return m.add(New(t, files), wire.ProjectCreate{Slug: "app"})
}

const otterGo = "package app\n\n// Otter swims in the river and eats fish.\nfunc Otter() {}\n"

func TestAnotherModelIsBuiltBesideAndSwapped(t *testing.T) {
	t.Parallel()
	f := newFakeOllama(t)
	p := newModelProject(t, map[string]string{"main.go": mainGo, "otter.go": otterGo})
	p.settle()
	p.eventually("builtin vectors are there", func() bool { st := p.status(); return st.Vectors > 0 && st.VectorsDue == 0 })
	before := p.status()

	gate := make(chan struct{})
	config := "[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"tiny\"\nweight = 0.3\n"
	f.Break(embedtest.Faults{Gate: gate})
	if got := p.choose(config); got.Notice != "" || got.Embedder.Provider != "builtin" || got.Embedder.Next != "near/tiny" {
		t.Errorf("chosen: %+v, %+v", got, got.Embedder)
	}
	p.eventually("the model is asked", func() bool { return f.Sent() > 0 })
	if st := p.status(); st.Embedder.Provider != "builtin" || st.Vectors != before.Vectors || !p.found("river fish", "otter.go") {
		t.Errorf("while it is built: %+v, %d vectors", st.Embedder, st.Vectors)
	}
	close(gate)
	p.eventually("it is swapped", func() bool { return p.status().Embedder.Model == "tiny" })
	st := p.status()
	if e := st.Embedder; e.Dimension != 16 || e.Next != "" || e.Weight != 0.3 || e.Where != "this machine" || st.Vectors != before.Vectors {
		t.Errorf("after the swap: %+v, %d vectors, want %d", e, st.Vectors, before.Vectors)
	}
	if !p.found("river fish", "otter.go") {
		t.Error("not found after the swap")
	}
	p.write("late.go", "package app\n\n// Walrus rests on the ice.\nfunc Walrus() {}\n")
	p.eventually("a save gets vectors of the new model", func() bool { st := p.status(); return st.Vectors > before.Vectors && st.VectorsDue == 0 })

	// It outlives a restart, with no model there to ask, and words answer in time.
	f.Break(embedtest.Faults{Gate: make(chan struct{})})
	p.restart()
	p.settle()
	if st := p.status(); st.Embedder.Model != "tiny" || st.Vectors <= before.Vectors {
		t.Errorf("after a restart: %+v, %d vectors", st.Embedder, st.Vectors)
	}
	start := time.Now()
	if len(p.search(wire.SearchRequest{Query: "where does the otter swim"})) == 0 || time.Since(start) > 10*time.Second {
		t.Errorf("words did not answer in time: %v", time.Since(start))
	}
	p.eventually("status says that searches go by words", func() bool { return strings.Contains(fmt.Sprint(p.status().Notices), "by words alone") })
	dirs, err := filepath.Glob(filepath.Join(p.d.IndexDir(p.dir), "vectors*"))
	if err != nil || len(dirs) != 1 || filepath.Base(dirs[0]) == "vectors" {
		t.Errorf("vectors on disk: %v, %v", dirs, err)
	}
	// Back to the builtin one, whose vectors are made anew.
	p.choose("")
	p.eventually("back", func() bool {
		st := p.status()
		return st.Embedder.Provider == "builtin" && st.VectorsDue == 0 && st.Vectors > before.Vectors
	})
}

// F56: a model that hangs or fails keeps nothing from being found, and is not asked
// in a spin.
func TestModelThatFailsDelaysOnlyVectors(t *testing.T) {
	t.Parallel()
	f := newFakeOllama(t)
	p := newModelProject(t, map[string]string{"main.go": mainGo})
	p.settle()
	f.Break(embedtest.Faults{Fault: func(_ int, w http.ResponseWriter) bool {
		http.Error(w, "oops", http.StatusInternalServerError)
		return true
	}})
	config := "[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"tiny\"\n"
	p.choose(config)
	p.eventually("status says why", func() bool { return strings.Contains(fmt.Sprint(p.status().Notices), "vectors are late") })
	f.Break(embedtest.Faults{Gate: make(chan struct{})}) // now it hangs
	for i := range 3 {
		name, animal := fmt.Sprintf("a%d.go", i), []string{"Lynx", "Stoat", "Marten"}[i]
		p.write(name, "package app\n\n// "+animal+" hunts at night.\nfunc "+animal+"() {}\n")
		p.eventually(animal+" is found by words", func() bool { return p.found(animal, name) })
	}
	if n := f.Sent(); n > 40 {
		t.Errorf("asked for %d texts", n)
	}
	if st := p.status(); st.Embedder.Provider != "builtin" || st.State != "ready" {
		t.Errorf("status %s, %+v", st.State, st.Embedder)
	}
	f.Break(embedtest.Faults{})
	p.choose(config) // the user asks again
	p.eventually("it comes in the end", func() bool { return p.status().Embedder.Model == "tiny" })
	p.eventually("and the notice goes", func() bool { return !strings.Contains(fmt.Sprint(p.status().Notices), "vectors are late") })
}

// A request that hangs does not keep what the user decides from being done: it is
// ended.
func TestDecisionEndsARequestThatHangs(t *testing.T) {
	t.Parallel()
	f := newFakeOllama(t)
	p := newModelProject(t, map[string]string{"main.go": mainGo})
	p.settle()
	f.Break(embedtest.Faults{Gate: make(chan struct{})})
	config := "[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"tiny\"\nweight = 0.3\n"
	p.choose(config)
	p.eventually("it is asked, and hangs", func() bool { return f.Sent() > 0 })
	f.Break(embedtest.Faults{})
	p.choose(config)
	p.eventually("it is asked again", func() bool { return p.status().Embedder.Model == "tiny" })
}

func TestNothingLeavesWithoutConsent(t *testing.T) {
	t.Parallel()
	f := newFakeOllama(t)
	p := newModelProject(t, map[string]string{"main.go": mainGo, "otter.go": otterGo})
	p.settle()
	// Ollama passes what it gets for such a model on to another machine.
	config := "[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"big-cloud\"\nweight = 0.3\n"
	if got := p.choose(config); !strings.Contains(got.Notice, "foldwatch provider allow near -p app") {
		t.Errorf("notice %q", got.Notice)
	}
	p.eventually("status says so", func() bool { return strings.Contains(fmt.Sprint(p.status().Notices), "foldwatch provider allow near") })
	p.write("more.go", otterGo)
	p.settle()
	if n := f.Sent(); n != 0 {
		t.Fatalf("%d texts were sent without consent", n)
	}
	p.choose(config + "[projects.app]\nproviders = [\"near\"]\n")
	p.eventually("allowed, it is used", func() bool { return p.status().Embedder.Model == "big-cloud" })
	st := p.status()
	if e := st.Embedder; e.Where != "Ollama's cloud" || e.SentToday == 0 {
		t.Errorf("%+v", e)
	}
	p.choose(config) // deny
	p.eventually("denied, the builtin one is back", func() bool { st := p.status(); return st.Embedder.Provider == "builtin" && st.VectorsDue == 0 })
	sent := f.Sent()
	p.search(wire.SearchRequest{Query: "where does the otter swim"})
	p.write("again.go", otterGo)
	p.settle()
	if n := f.Sent(); n != sent {
		t.Errorf("%d texts were sent after it was denied", n-sent)
	}
	list, err := p.d.Audit(p.ctx(), local(), wire.AuditQuery{Limit: 1})
	if err != nil || len(list.Items) != 1 || list.NextCursor == "" || list.Items[0].Project != "app" || !strings.Contains(list.Items[0].Action, "near: ") {
		t.Errorf("Audit = %+v, %v", list, err)
	}
	if next, err := p.d.Audit(p.ctx(), local(), wire.AuditQuery{Project: "app", Cursor: list.NextCursor}); err != nil || len(next.Items) == 0 || next.NextCursor != "" {
		t.Errorf("the page after: %+v, %v", next, err)
	}
	if none, err := p.d.Audit(p.ctx(), fold.Scope{}, wire.AuditQuery{}); err != nil || len(none.Items) != 0 {
		t.Errorf("told to whom may not read: %+v, %v", none, err)
	}
	p.stop()
	s, err := state.Open(t.Context(), p.dirs().State)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	audits, err := s.Audits(t.Context(), "app", 0, 100)
	if err != nil || len(audits) == 0 || audits[0].Slug != "app" || !strings.Contains(audits[0].Action, "texts") || audits[0].Bytes == 0 {
		t.Errorf("audit: %+v, %v", audits, err)
	}
	if b, err := json.Marshal(audits); err != nil || strings.Contains(strings.ToLower(string(b)), "otter") {
		t.Errorf("the audit holds text: %s", b)
	}
}

// The model knows nothing of code: its vectors must count nothing, and the reason
// is the user's own commits.
func TestWeightIsMeasuredOnTheCheckout(t *testing.T) {
	t.Parallel()
	f := newFakeOllama(t)
	p := newModelProject(t, map[string]string{"main.go": mainGo})
	animals := []string{"badger", "beaver", "bison", "camel", "civet", "coyote", "dingo", "ferret", "gazelle", "gibbon", "hyena", "ibex", "jackal", "koala", "lemur", "llama", "marmot", "mink", "moose", "ocelot", "okapi", "oryx", "panda", "puma", "quokka", "rabbit", "sable", "serval", "shrew", "tapir", "urial", "vole", "weasel", "yak", "zebra"}
	for _, a := range animals {
		p.write(a+".go", "package app\n\n// Feed"+a+" gives food to one "+a+".\nfunc Feed"+a+"() {}\n")
		p.commit("Feed the " + a + " in the morning")
	}
	p.sweep(wire.Reindex{})
	p.settle()
	p.choose("[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"tiny\"\n")
	p.eventually("it is measured", func() bool {
		e := p.status().Embedder
		return e.Model == "tiny" && strings.HasPrefix(e.WeightWhy, "measured on")
	})
	if e := p.status().Embedder; e.Weight != 0 || e.Next != "" || !strings.Contains(e.WeightWhy, "commits of this checkout: it does not help") {
		t.Errorf("weight %v: %s", e.Weight, e.WeightWhy)
	}
}

func TestModelFolderIsUsedOffline(t *testing.T) {
	t.Parallel()
	p := newModelProject(t, map[string]string{"main.go": mainGo})
	p.settle()
	p.choose("[embedding]\nprovider = \"local\"\nmodel = \"absent\"\n")
	p.eventually("status says that it is missing", func() bool { return strings.Contains(fmt.Sprint(p.status().Notices), "no such folder") })
	if st := p.status(); st.Embedder.Provider != "builtin" || st.State != "ready" {
		t.Errorf("status %s, %+v", st.State, st.Embedder)
	}
}
