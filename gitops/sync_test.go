package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A replica is a checkout with a store that syncs with a remote.
type replica struct {
	t   testing.TB
	dir string
	s   *gitops.Store
	opt gitsync.SyncOptions
}

// bareRemote makes an empty bare repository.
func bareRemote(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(realDir(t), "remote.git")
	git(t, filepath.Dir(dir), "init", "-q", "--bare", "--template=", dir)
	return dir
}

// newReplica makes a checkout without a commit that syncs with remote. The test
// is isolated by its caller.
func newReplica(t testing.TB, remote string, edit func(*gitops.StoreOptions)) *replica {
	t.Helper()
	dir := realDir(t)
	git(t, dir, "init", "-q", "--template=", ".")
	r := &replica{t: t, dir: dir, opt: gitsync.SyncOptions{
		Remote: remote, Local: true, Publish: true, Rand: func() float64 { return 0 },
	}}
	r.s = openStore(t, dir, edit)
	return r
}

func (r *replica) sync() gitsync.Synced {
	r.t.Helper()
	got, err := r.s.Syncer().Sync(r.t.Context(), r.opt)
	if err != nil {
		r.t.Fatalf("Sync = %v", err)
	}
	return got
}

// commit records what is on disk.
func (r *replica) commit() {
	r.t.Helper()
	rec, err := r.s.CommitAll(r.t.Context())
	must(r.t, err)
	if rec.Guarded || len(rec.SetAside) > 0 {
		r.t.Fatalf("CommitAll = %+v", rec)
	}
}

// put writes a memory and records it.
func (r *replica) put(id fold.ID, b []byte) {
	r.t.Helper()
	have, err := r.s.Read(id.Path())
	if os.IsNotExist(err) {
		have = nil
	}
	_, err = r.s.Put(r.t.Context(), gitops.Write{ID: id, Base: have, New: b})
	must(r.t, err)
	r.commit()
}

func (r *replica) read(path string) string {
	r.t.Helper()
	b, err := r.s.Read(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// files returns all of fold/ but its ignore file.
func (r *replica) files() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	root := filepath.Join(r.dir, "fold")
	must(r.t, filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".gitignore" {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	}))
	return out
}

func (r *replica) syncState() gitsync.State {
	r.t.Helper()
	st, err := r.s.Syncer().State(r.t.Context())
	must(r.t, err)
	return st
}

// TestSync runs what needs no environment of its own side by side: it waits for
// the disk more than it works.
func TestSync(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Converges", syncConverges},
		{"Deletions", syncDeletions},
		{"Random", syncRandom},
		{"StopsAtEveryStep", syncStopsAtEveryStep},
		{"StopsAndGoesOn", syncStopsAndGoesOn},
		{"StopsTwice", syncStopsTwice},
		{"KilledAnywhere", syncKilledAnywhere},
		{"Foreign", syncForeign},
		{"Malformed", syncMalformed},
		{"Secret", syncSecret},
		{"Rewritten", syncRewritten},
		{"OtherRemote", syncOtherRemote},
		{"Guarded", syncGuarded},
		{"Local", syncLocal},
		{"Project", syncProject},
		{"ConcurrentEdit", syncConcurrentEdit},
		{"Squashed", syncSquashed},
		{"DeletedAtOnce", syncDeletedAtOnce},
		{"LostRace", syncLostRace},
		{"Policy", syncPolicy},
		{"Addresses", syncAddresses},
		{"TwoReplicas", syncTwoReplicas},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.test(t)
		})
	}
}

func syncTwoReplicas(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	id, text := memoryFile("Session timeout policy", "Thirty minutes.")
	a.put(id, text)
	if st := a.syncState(); st.Unpushed != 1 || st.RemoteTip != "" {
		t.Errorf("SyncState before = %+v", st)
	}
	got := a.sync()
	if !got.Pushed || got.Sent != 1 || got.Fetched || got.Remote != got.Local || len(got.Paths) > 0 {
		t.Errorf("first Sync = %+v", got)
	}
	if st := a.syncState(); st.Unpushed != 0 || st.RemoteTip != got.Remote || st.Pushed.IsZero() || st.Contact.IsZero() {
		t.Errorf("SyncState after = %+v", st)
	}
	if subject := git(t, remote, "log", "--format=%s%n%an %cn", "foldwatch"); subject != "fold: Add decision \"Session timeout policy\"\nAnn foldwatch" {
		t.Errorf("the remote's history is %q", subject)
	}
	got = b.sync()
	if !got.Fetched || got.Pushed || strings.Join(got.Paths, " ") != id.Path() {
		t.Errorf("Sync of the other = %+v", got)
	}
	if b.read(id.Path()) != string(text) {
		t.Errorf("the other has %q", b.read(id.Path()))
	}
	if st := b.syncState(); st.Unpushed != 0 {
		t.Errorf("SyncState of the other = %+v", st)
	}
	// Nothing to do is one run of git and no write.
	before := stateFiles(t, b.dir)
	var n atomic.Int64
	if got, err := b.s.Syncer().Sync(usergit.WithCounter(t.Context(), &n), b.opt); err != nil || got.Fetched || got.Pushed || n.Load() != 1 {
		t.Errorf("Sync of nothing = %+v, %v with %d runs of git", got, err, n.Load())
	}
	if after := stateFiles(t, b.dir); after != before {
		t.Errorf("a sync of nothing wrote:\n%s\nwas:\n%s", after, before)
	}
	tip, err := b.s.Syncer().RemoteTip(t.Context(), b.opt)
	if err != nil || tip != got.Remote {
		t.Errorf("RemoteTip = %s, %v, want %s", tip, err, got.Remote)
	}
	fsck(t, a.dir)
	fsck(t, b.dir)
}

// stateFiles lists what lies in the state folder, with times.
func stateFiles(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(filepath.Join(dir, ".git/foldwatch"), func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			out.WriteString(p + " " + fi.ModTime().String() + "\n")
		}
		return err
	}))
	return out.String()
}
