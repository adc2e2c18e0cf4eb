package gitops_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// reopen opens the store again, as the start after a crash does.
func (r *replica) reopen() {
	r.t.Helper()
	must(r.t, r.s.Close())
	s, err := gitops.OpenStore(r.t.Context(), gitops.StoreOptions{Repo: locate(r.t, r.dir), Slug: "app", Now: later})
	must(r.t, err)
	r.t.Cleanup(func() { _ = s.Close() })
	r.s = s
}

// syncStopsAndGoesOn: I7, I9. A sync ends at one of its steps, and what it brought, or
// was to publish, is deleted, brought back or written anew before the next. That is
// what the user wants, on every machine, whatever references have moved by then, and
// whether the journal was squashed, the next sync ended as well, or the remote has
// moved on.
func syncStopsAndGoesOn(t *testing.T) {
	all := fulltest.Pick(false, true) // every pair
	for i, stop := range []string{"merge", "push", "pushed", "files", "journal", "refs"} {
		for k, then := range []string{"at once", "squash", "stop", "move", "keep"} {
			if !all && (i < 2 || k != i-2) {
				continue
			}
			t.Run(stop+" "+then, func(t *testing.T) {
				t.Parallel()
				stopAndGoOn(t, stop, then)
			})
		}
	}
}

func stopAndGoOn(t *testing.T, stop, then string) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	add := func(r *replica, title, body string) fold.ID {
		id, text := memoryFile(title, body)
		r.put(id, text)
		return id
	}
	set := func(r *replica, id fold.ID, old, is string) { r.put(id, edited(r.read(id.Path()), old, is)) }
	back, gone := add(a, "Back", "first"), add(a, "Gone", "first")
	both := add(a, "Both", "one\ntwo\nthree\nfour\nfive")
	converge(t, a, b)
	came := add(a, "Came", "said once")
	set(a, back, "first\n", "second\n")
	set(a, both, "one\n", "one of a\n")
	a.put(gone, nil)
	a.sync()
	own := add(b, "Own", "said once")
	set(b, both, "five\n", "five of b\n")

	ended := errors.New("ended")
	opt := b.opt
	opt.Publish = then != "keep"
	opt.Step = func(step string) error {
		if step == stop {
			return ended
		}
		return nil
	}
	if _, err := b.s.Syncer().Sync(t.Context(), opt); !errors.Is(err, ended) && opt.Publish {
		t.Fatalf("Sync = %v, want it to end at %q", err, stop)
	}
	// Whatever has come by now is taken back.
	want := map[fold.ID]string{came: "said once", back: "second", gone: "", both: "one of a", own: ""}
	b.put(own, nil)
	if b.read(came.Path()) != "" {
		b.put(came, nil)
		want[came] = ""
	}
	if has := b.read(back.Path()); has != "" && has != string(edited(has, "second\n", "first\n")) {
		set(b, back, "second\n", "first\n")
		want[back] = "first"
	}
	if b.read(gone.Path()) == "" {
		add(b, "Gone", "first")
		want[gone] = "first"
	}
	if has := b.read(both.Path()); has != string(edited(has, "one of a\n", "one\n")) {
		b.put(both, nil)
		want[both] = ""
	}
	switch then {
	case "squash":
		b.reopen()
		_, err := b.s.Syncer().Squash(t.Context())
		must(t, err)
	case "stop", "keep":
		for range 2 {
			b.reopen()
			if _, err := b.s.Syncer().Sync(t.Context(), opt); !errors.Is(err, ended) && err != nil {
				t.Fatal(err)
			}
		}
	case "move":
		add(a, "Moved on", "x")
		a.sync()
	}
	b.reopen()
	b.commit()
	b.sync()
	converge(t, a, b)
	for _, r := range []*replica{a, b} {
		for id, body := range want {
			got := r.read(id.Path())
			if body == "" && got != "" || body != "" && got == string(edited(got, body+"\n", "")) {
				t.Errorf("a sync that ended at %q: %s has %q, want a body of %q", stop, r.dir, got, body)
			}
		}
	}
	linear(t, remote)
	fsck(t, b.dir)
}

// syncStopsTwice: I7. What a sync took in that did not end is the base of a file also
// after a second one, which merged with it and lost the race for the remote.
func syncStopsTwice(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	id, text := memoryFile("Both", "one\ntwo\nthree\nfour\nfive")
	a.put(id, text)
	converge(t, a, b)
	set := func(r *replica, old, is string) { r.put(id, edited(r.read(id.Path()), old, is)) }
	ends := func(at string) {
		t.Helper()
		ended, opt := errors.New("ended"), b.opt
		opt.Step = func(step string) error {
			if step == at {
				return ended
			}
			return nil
		}
		if _, err := b.s.Syncer().Sync(t.Context(), opt); !errors.Is(err, ended) {
			t.Fatalf("Sync = %v, want it to end at %q", err, at)
		}
		b.reopen()
	}
	set(a, "one\n", "one of a\n")
	a.sync()
	ends("refs")
	set(b, "one of a\n", "one\n") // the user takes it back
	b.commit()
	set(a, "five\n", "five of a\n")
	a.sync()
	ends("push")
	b.commit()
	b.sync()
	converge(t, a, b)
	for _, r := range []*replica{a, b} {
		if got := r.read(id.Path()); strings.Contains(got, "one of a") || !strings.Contains(got, "five of a") {
			t.Errorf("%s has\n%s", r.dir, got)
		}
	}
}
