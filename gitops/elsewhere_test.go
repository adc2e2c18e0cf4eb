package gitops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/history"
)

// logOf is what the log tells of path, one line a revision, newest first.
func (r *replica) logOf(path string) (lines []string, revs []history.Revision) {
	r.t.Helper()
	revs, err := r.s.History().Log(r.t.Context(), path, 0)
	must(r.t, err)
	for _, v := range revs {
		who := v.Author
		if v.From != history.FromHere {
			who = v.From + " of " + strings.Join(v.Writers, "+")
		}
		lines = append(lines, who)
	}
	return lines, revs
}

// TestLogTellsWhoWroteElsewhere: what others wrote is told by their names, and
// what they wrote between two syncs can be had back.
func TestLogTellsWhoWroteElsewhere(t *testing.T) {
	t.Parallel()
	remote := bareRemote(t)
	by := func(name string) func(*gitops.StoreOptions) {
		return func(o *gitops.StoreOptions) {
			o.Author = func() (string, string) { return name, name + "@example.org" }
		}
	}
	a, b := newReplica(t, remote, by("Ann")), newReplica(t, remote, by("Bob"))
	id, first := memoryFile("Shared", "first of Ann")
	a.put(id, first)
	a.sync()
	b.sync()
	var versions [][]byte
	for i := range 3 {
		v := []byte(strings.Replace(string(first), "first of Ann", fmt.Sprintf("version %d of Bob", i), 1))
		versions = append(versions, v)
		b.put(id, v)
		b.sync()
	}
	other, text := memoryFile("Other", "of Bob too")
	b.put(other, text)
	b.sync()
	a.sync()
	lines, revs := a.logOf(id.Path())
	if want := "sync of Bob|remote of Bob|remote of Bob|Ann"; !sameButTies(strings.Join(lines, "|"), want) {
		t.Errorf("the log of Ann's machine: %q, want %q", strings.Join(lines, "|"), want)
	}
	if lines, _ := a.logOf(""); strings.Join(lines, "|") != "sync of Bob|Ann" {
		t.Errorf("the log of all: %q", lines)
	}
	if lines, _ := b.logOf(id.Path()); strings.Join(lines, "|") != "Bob|Bob|Bob|sync of Ann" {
		t.Errorf("the log of Bob's machine: %q", lines)
	}
	// Bob's versions between the syncs were never in Ann's journal.
	back := map[string]bool{}
	for _, r := range revs {
		if r.From == history.FromHere {
			continue
		}
		diff, _, _, err := a.s.History().Diff(t.Context(), r.Oid)
		must(t, err)
		got, err := a.s.Restore(t.Context(), id.Path(), r.Oid[:12], nil)
		must(t, err)
		back[string(got.Bytes)] = true
		if string(got.Bytes) == string(versions[0]) && !strings.Contains(diff, "version 0 of Bob") {
			t.Errorf("diff since the first version of Bob:\n%s", diff)
		}
		a.commit()
	}
	for _, v := range versions {
		if !back[string(v)] {
			t.Errorf("not brought back: %s", v)
		}
	}
}

// sameButTies compares two logs of which revisions of one second may stand in
// any order.
func sameButTies(got, want string) bool {
	count := func(s string) map[string]int {
		m := map[string]int{}
		for l := range strings.SplitSeq(s, "|") {
			m[l]++
		}
		return m
	}
	return fmt.Sprint(count(got)) == fmt.Sprint(count(want))
}

// TestUndoOfManyFiles: one revision that took many files away, an archive, say,
// is taken back whole, and what was written since stays.
func TestUndoOfManyFiles(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	all := fill(t, s, 300)
	var away []gitops.Write
	for _, path := range all {
		b, err := s.Read(path)
		must(t, err)
		away = append(away, gitops.Write{Path: path, Base: b})
	}
	n, skipped, err := s.PutMany(t.Context(), away)
	if err != nil || n != len(away) || len(skipped) > 0 {
		t.Fatalf("PutMany = %d, %v, %v", n, skipped, err)
	}
	log, err := s.History().Log(t.Context(), "", 1)
	must(t, err)
	if len(log) != 1 || log[0].Subject != "fold: Remove 300 memories" {
		t.Fatalf("the archive is %+v", log)
	}
	id, m := memoryFile("Since", "written since")
	_, err = s.Put(t.Context(), gitops.Write{ID: id, New: m})
	must(t, err)
	paths, err := s.Undo(t.Context(), log[0].Oid)
	if err != nil || len(paths) != len(all) {
		t.Fatalf("Undo = %d paths, %v", len(paths), err)
	}
	for _, w := range away {
		if b, err := s.Read(w.Path); err != nil || string(b) != string(w.Base) {
			t.Fatalf("%s after the undo: %q, %v", w.Path, b, err)
		}
	}
	if b, err := s.Read(id.Path()); err != nil || string(b) != string(m) {
		t.Errorf("what was written since: %q, %v", b, err)
	}
}
