package sets

import "testing"

func TestSetsAreAskedOfWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	r := repo{Roots: []string{"pkg/", "cmd/"}, Exts: []string{".c", ".h"}, Docs: []string{"docs/content/"}}
	for set, want := range map[string]string{
		"a": "{pkg,cmd}/**/*{.c,.h}",
		"b": "{pkg,cmd}/**/*{.c,.h}",
		"c": "docs/content/**/*{.md,.rst,.txt}",
		"d": "",
	} {
		if got := r.scope(set); got != want {
			t.Errorf("set %s is asked of %q, want %q", set, got, want)
		}
	}
	if got := (repo{Roots: []string{""}, Exts: []string{".go"}}).scope("a"); got != "**/*.go" {
		t.Errorf("a repository of one language is asked by %q", got)
	}
	if got := (repo{}).scope("c"); got != "" {
		t.Errorf("a repository without documentation is asked by %q", got)
	}
}
