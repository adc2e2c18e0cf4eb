package daemon_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTwinsOfNames: notes whose names differ in case, or in how an accent is
// composed, are kept each for itself, in fold/ and in the history. Of those that
// differ only in that, which have one id, one is found and the other is told of;
// when the one goes, the other is found.
func TestTwinsOfNames(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "caf\u00e9.md", "cafe\u0301.md"
	p := newProject(t, map[string]string{"main.go": mainGo})
	words := map[string]string{"Zoo.md": "numbat", "zoo.md": "wombat", composed: "quokka", decomposed: "bilby"}
	for name, word := range words {
		p.write("fold/"+name, "The "+word+" sleeps.\n")
	}
	names, err := os.ReadDir(p.file("fold"))
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, e := range names {
		if _, ok := words[e.Name()]; ok {
			notes++
		}
	}
	if notes != len(words) {
		t.Skip("SKIP: this file system has one name for some of the four")
	}
	check := func(when, aside string) {
		t.Helper()
		p.settle()
		for name, word := range words {
			p.committed(name)
			if !strings.Contains(p.read("fold/"+name), word) {
				t.Errorf("%s: %+q has not its text", when, name)
			}
			if name != aside {
				p.eventually(fmt.Sprintf("%s: %+q is found", when, name), func() bool { return p.found(word, name) })
			} else if p.found(word, name) {
				t.Errorf("%s: %+q is found", when, name)
			}
			if got := p.problem("fold/" + name); (got != "") != (name == aside) || name == aside && !strings.Contains(got, `"caf\u00e9.md"`) {
				t.Errorf("%s: %+q is set aside because %q", when, name, got)
			}
		}
	}
	check("at first", decomposed)
	p.write("fold/"+decomposed, "The bilby sleeps, and digs.\n")
	check("saved again", decomposed)

	if err := os.Remove(p.file("fold/" + composed)); err != nil {
		t.Fatal(err)
	}
	delete(words, composed)
	p.eventually("the other is found", func() bool { return p.found("bilby", decomposed) })
	check("the composed one is gone", "")
	p.rename("fold/"+decomposed, "fold/"+composed) // as a Mac does with what it copies
	words[composed] = words[decomposed]
	delete(words, decomposed)
	p.eventually("it is found under its new name", func() bool { return p.found("bilby", composed) })
	check("renamed", "")
}

// TestAPathThatGoesForgetsItsOwn: a note whose id another path has by now stays found
// when the path that had it before goes.
func TestAPathThatGoesForgetsItsOwn(t *testing.T) {
	t.Parallel()
	const mixed, composed = "\u00c4/cafe\u0301.md", "\u00c4/caf\u00e9.md"
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.write("fold/"+mixed, "The bilby sleeps.\n")
	p.eventually("the first is found", func() bool { return p.found("bilby", mixed) })
	p.write("fold/"+composed, "The quokka sleeps.\n")
	if names, err := os.ReadDir(p.file("fold/\u00c4")); err != nil || len(names) != 2 {
		t.Skip("SKIP: this file system has one name for both")
	}
	p.eventually("the second is found", func() bool { return p.found("quokka", composed) })
	if err := os.Remove(p.file("fold/" + mixed)); err != nil {
		t.Fatal(err)
	}
	p.write("fold/later.md", "The wombat sleeps.\n")
	p.eventually("what comes later is found", func() bool { return p.found("wombat", "later.md") })
	p.settle()
	if !p.found("quokka", composed) {
		t.Error("the second is forgotten with the first")
	}
}
