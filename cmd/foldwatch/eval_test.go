package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of a project is another project: nobody agreed to have it sent anywhere,
// though the project it is of, or one of the copy's name, may be.
func TestEvalSendsNoCopy(t *testing.T) {
	const rest = "[projects.my-app]\nproviders = [\"openai\"]\n[projects.checkout]\nproviders = [\"openai\"]\n[projects.my-app.chunk]\nmin_lines = 9\n"
	for _, tc := range []struct{ name, embedding, provider, model, told string }{
		{"elsewhere", "provider = \"openai\"\n", "builtin", "", "not sent to openai"},
		{"here, and passed on", "provider = \"ollama\"\nmodel = \"big-cloud\"\n", "builtin", "", "not sent to ollama"},
		{"here", "provider = \"ollama\"\nmodel = \"tiny\"\n", "ollama", "tiny", ""},
		{"a folder", "provider = \"local\"\nmodel = \"tiny\"\n", "local", "cache/models/tiny", ""},
		{"none", "provider = \"builtin\"\n", "builtin", "", ""},
	} {
		tr := newTrial(t, twoProjects(), "/")
		st, err := tr.app.config.Settings()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(st.Dirs.ConfigFile()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(st.Dirs.ConfigFile(), []byte("[embedding]\n"+tc.embedding+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		tr.app.config.Forget()
		if st, err = tr.app.config.Settings(); err != nil {
			t.Fatal(err)
		}
		cfg := evalConfig(tr.app, st, "my-app")
		of := cfg.For("checkout")
		if len(of.Allowed) != 0 || of.Embedding.Provider != tc.provider || !strings.HasSuffix(filepath.ToSlash(of.Embedding.Model), tc.model) || of.Chunk.MinLines != 9 {
			t.Errorf("%s: allowed %q, embedding %+v, at least %d lines", tc.name, of.Allowed, of.Embedding, of.Chunk.MinLines)
		}
		if filepath.IsAbs(of.Embedding.Model) != (tc.provider == "local") || !strings.Contains(tr.err.String(), tc.told) || tc.told == "" && tr.err.Len() > 0 {
			t.Errorf("%s: model %q, told %q", tc.name, of.Embedding.Model, tr.err.String())
		}
	}
}
