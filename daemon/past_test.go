package daemon_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
)

// commitsFind returns the paths that past commits alone find for query.
func commitsFind(p *project, in wire.SearchRequest) []string {
	p.t.Helper()
	reply, err := p.d.SearchBy(p.ctx(), local(), p.slug, in, recall.Channels{recall.Commits})
	if err != nil {
		p.t.Fatal(err)
	}
	var paths []string
	for _, r := range reply.Results {
		paths = append(paths, r.Metadata.FilePath)
	}
	return paths
}

// TestPastCommitsVoteForTheirFiles follows a history: what was there at first,
// what is committed, and what a rewrite takes away.
func TestPastCommitsVoteForTheirFiles(t *testing.T) {
	t.Parallel()
	dir := New(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n", "lib/run.go": "package lib\n\nfunc Run() {}\n"})
	change := func(name, text, message string) {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", message)
	}
	change("lib/run.go", "package lib\n\nfunc Run() { go Run() }\n", "Mend quokka starvation\n\nThe scheduler left marsupials waiting.")
	change("gone.go", "package main\n", "Count numbats")
	git(t, dir, "rm", "-q", "gone.go")
	git(t, dir, "commit", "-q", "-m", "Drop the numbat counter")
	change("main.go", "package main\n\nfunc main() { println() }\n", "Rotate AKIA"+"Z7QLMX4RTNV2WYKD of the bilby")
	p := newMachine(t).add(dir, wire.ProjectCreate{Slug: "past"})
	want := func(query string, paths ...string) {
		t.Helper()
		if got := commitsFind(p, wire.SearchRequest{Query: query}); !slices.Equal(got, paths) {
			t.Errorf("commits find %q for %q, want %q", got, query, paths)
		}
	}
	want("quokkas starve", "lib/run.go")
	want("marsupial scheduling", "lib/run.go")
	want("numbat") // its file is gone
	want("bilby")  // its message holds a credential
	if got := commitsFind(p, wire.SearchRequest{Query: "quokka", FilePattern: "*.md"}); len(got) > 0 {
		t.Errorf("commits find %q where only markdown is asked for", got)
	}
	// All channels together find what no word of the file has.
	if reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "quokka"}); err != nil || len(reply.Results) == 0 || reply.Results[0].Metadata.FilePath != "lib/run.go" {
		t.Errorf("Search = %+v, %v", reply.Results, err)
	}
	change("main.go", "package main\n\nfunc main() {}\n", "Feed the wombat")
	p.eventually("the new commit votes", func() bool {
		return slices.Equal(commitsFind(p, wire.SearchRequest{Query: "wombats"}), []string{"main.go"})
	})
	want("quokka", "lib/run.go")
	git(t, dir, "commit", "-q", "--amend", "-m", "Feed the potoroo")
	p.eventually("the amended commit votes in its place", func() bool {
		return slices.Equal(commitsFind(p, wire.SearchRequest{Query: "potoroo"}), []string{"main.go"})
	})
	want("wombat")
}

// TestVotesKeepToTheirProject searches two projects that have a path in common.
func TestVotesKeepToTheirProject(t *testing.T) {
	t.Parallel()
	files := map[string]string{"main.go": "package main\n\nfunc main() {}\n"}
	dir := New(t, files)
	git(t, dir, "commit", "-q", "--amend", "-m", "Mend quokka starvation")
	m := newMachine(t)
	one, two := m.add(dir, wire.ProjectCreate{Slug: "one"}), m.add(New(t, files), wire.ProjectCreate{Slug: "two"})
	reply, err := m.d.SearchAll(context.Background(), local(), wire.SearchRequest{Query: "quokka"})
	if err != nil || len(reply.Results) != 1 || reply.Results[0].Project != one.slug {
		t.Errorf("SearchAll = %+v, %v; want the file of %s alone, not of %s", reply.Results, err, one.slug, two.slug)
	}
}
