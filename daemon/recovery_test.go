package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// diskFull is what SQLite's "disk full" becomes.
func diskFull() error {
	return fold.WithHint(fmt.Errorf("index.db: disk full: %w", fold.ErrUnavailable), "free some disk space")
}

// failing makes the daemon of a machine fail with diskFull at the operation that
// is set; "" is none.
func failing(m *machine) *atomic.Value {
	var op atomic.Value
	op.Store("")
	m.faults = func(name string) error {
		if op.Load() == name {
			return diskFull()
		}
		return nil
	}
	m.restart()
	return &op
}

func (p *project) noticed(text string) bool {
	p.t.Helper()
	return strings.Contains(strings.Join(p.status().Notices, "\n"), text)
}

// TestAFullDiskIsWaitedOut is design 12: nothing stops for good because the disk
// is full for a while.
func TestAFullDiskIsWaitedOut(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	op := failing(p.machine)
	p.settle()
	op.Store("job")
	p.write("late.go", "package main\n\n// Numbat digs.\nfunc Numbat() {}\n")
	r := p.addMemory(wire.MemoryCreate{Content: "Durable, though the disk of the index is full."})
	p.eventually("status says why, and what to do", func() bool {
		return p.noticed("disk full") && p.noticed("free some disk space")
	})
	op.Store("")
	p.eventually("the save is made up for", func() bool { return namesChunk(p, "Numbat") })
	if _, err := p.get(r.ID); err != nil {
		t.Error(err)
	}
	p.eventually("the notice is gone", func() bool { return !p.noticed("disk full") })

	// full at start, too
	p.stop()
	op.Store("open")
	p.start()
	p.eventually("it has failed and says so", func() bool {
		s := p.status()
		return s.State == "failed" && strings.Contains(s.Reason, "disk full") && s.Hint == "free some disk space"
	})
	if _, err := p.get(r.ID); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("get while it has failed: %v", err)
	}
	op.Store("")
	p.eventually("it is opened", func() bool { return p.status().State == "ready" })
	if _, err := p.get(r.ID); err != nil {
		t.Error(err)
	}
}

// TestAMissingCheckoutComesBack is a disk that is mounted after the daemon has
// started.
func TestAMissingCheckoutComesBack(t *testing.T) {
	t.Parallel()
	for name, mend := range map[string]func(p *project) error{
		"by itself": func(*project) error { return nil },
		"added again": func(p *project) error {
			_, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: p.dir})
			return err
		},
		"rebuilt": func(p *project) error {
			_, err := p.d.Reindex(p.ctx(), local(), p.slug, wire.Reindex{Rebuild: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"main.go": mainGo})
			r := p.addMemory(wire.MemoryCreate{Content: "Kept while the disk was away."})
			p.stop()
			if err := os.Rename(p.dir, p.dir+".away"); err != nil {
				t.Fatal(err)
			}
			p.start()
			p.eventually("it is missing and says so", func() bool {
				s := p.status()
				return s.State == "missing" && s.Reason != "" && strings.Contains(s.Hint, "foldwatch remove -p "+p.slug+"@"+s.Key[:8])
			})
			if err := os.Rename(p.dir+".away", p.dir); err != nil {
				t.Fatal(err)
			}
			if err := mend(p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			p.eventually("it is back", func() bool { return p.status().State == "ready" })
			if _, err := p.get(r.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestARemovedWorkTreeIsSaidOnce: of a linked work tree whose folder went while it
// was watched, status says that and what to do, in a line each, and nothing else.
func TestARemovedWorkTreeIsSaidOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	dir := filepath.Join(realDir(t), "side")
	p.git("worktree", "add", "-q", "-b", "side", dir)
	q := p.add(dir, wire.ProjectCreate{})
	r := p.addMemory(wire.MemoryCreate{Title: "Shared", Content: "Kept with the main work tree."})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file("late.go"), []byte(beast("Bilby")), 0o644); err != nil {
		t.Fatal(err)
	}
	side := func() (st wire.ProjectStatus) {
		all, err := p.d.Status(p.ctx(), local())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all.Projects {
			if s.Path == dir {
				st = s
			}
		}
		return st
	}
	p.eventually("it is missing", func() bool { return side().State == "missing" })
	st := side()
	remove := "foldwatch remove -p " + q.slug + "@" + st.Key[:8]
	if st.Reason != "its folder is not there: "+dir || !strings.HasSuffix(st.Hint, remove) || strings.Contains(st.Reason+st.Hint, "\n") ||
		len(st.Notices) > 0 || st.Watch != "off" || st.WatchReason != "" {
		t.Errorf("status says\n%+v", st)
	}
	p.eventually("the main work tree goes on", func() bool { return namesChunk(p, "Bilby") })
	if err := p.d.RemoveProject(p.ctx(), local(), q.slug+"@"+st.Key[:8], wire.ProjectRemove{}); err != nil {
		t.Errorf("what it says to do: %v", err)
	}
	if _, err := p.get(r.ID); err != nil || side().State != "" {
		t.Errorf("after the removal: %v, state %q", err, side().State)
	}
}

// TestDamageAtRunTimeIsMended has the index's file overwritten while it is open:
// what is asked next finds out, and the index is made again from the files.
func TestDamageAtRunTimeIsMended(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	r := p.addMemory(wire.MemoryCreate{Title: "Kept", Content: "The quokka is fed at nine."})
	p.restart() // so that the file holds all, and no cache does
	p.settle()
	path := filepath.Join(p.d.IndexDir(p.dir), "index.db")
	if err := overwrite(path, 4096); err != nil {
		t.Fatal(err)
	}
	p.eventually("the damage is said", func() bool {
		_, _ = p.get(r.ID)
		_, _ = p.d.ListMemories(p.ctx(), local(), p.slug, wire.ListQuery{})
		return p.noticed("damaged and is rebuilt")
	})
	p.eventually("it is mended", func() bool {
		m, err := p.get(r.ID)
		return err == nil && m.Title == "Kept" && p.status().State == "ready" && p.status().Files.Indexed == len(sampleTree())
	})
}

// overwrite puts noise over all of a file but its first bytes.
func overwrite(path string, from int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strings.Repeat("\xaa", int(fi.Size()-from))), from)
	return err
}

// TestTheNoticeGoesWithItsCause: the checkout is away while something is to be
// committed.
func TestTheNoticeGoesWithItsCause(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	p.committed("project.toml")
	p.write("fold/note.md", "# Note\n\nWritten just before.\n")
	if err := os.Rename(p.dir, p.dir+".away"); err != nil {
		t.Fatal(err)
	}
	p.eventually("what is wrong is said", func() bool {
		return p.noticed("not committed") || p.status().State == "missing"
	})
	if err := os.Rename(p.dir+".away", p.dir); err != nil {
		t.Fatal(err)
	}
	p.eventually("nothing is wrong any more", func() bool { return !p.noticed("not committed") && p.status().State == "ready" })
	p.committed("note.md")
}
