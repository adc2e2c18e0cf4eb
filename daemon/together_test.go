package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestNothingIsLostWhileOthersWrite has an editor that saves in place, one that
// renames, and an agent write to one memory at the same time: every text that
// was written is in the file, or in its history.
func TestNothingIsLostWhileOthersWrite(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	r := p.addMemory(wire.MemoryCreate{Title: "Shared", Content: "Begins here."})
	path := p.file("fold/" + r.Path)
	p.committed(r.Path)
	const rounds = 12
	var mu sync.Mutex
	var tokens []string
	keep := func(token string) {
		mu.Lock()
		defer mu.Unlock()
		tokens = append(tokens, token)
	}
	var wg sync.WaitGroup
	var hands sync.Mutex // editors that overwrite each other are not ours to mend
	editor := func(name string, save func(text string) error) {
		wg.Go(func() {
			for i := range rounds {
				hands.Lock()
				token := fmt.Sprintf("token-%s-%d-end", name, i)
				err := save(readFile(t, path) + "\n" + token + "\n")
				hands.Unlock()
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				keep(token)
				p.eventually("the save is seen", func() bool {
					p.clock.forward(time.Second) // a save into a file just replaced is found 2 s later
					m, err := p.get(r.ID)
					return err == nil && strings.Contains(m.Content, token) // in the middle of a save it does not parse
				})
			}
		})
	}
	editor("place", func(text string) error { return os.WriteFile(path, []byte(text), 0o644) })
	editor("rename", func(text string) error {
		if err := os.WriteFile(path+".tmp~", []byte(text), 0o644); err != nil {
			return err
		}
		return os.Rename(path+".tmp~", path)
	})
	wg.Go(func() {
		begin := time.Now()
		for i := 0; i < 2*rounds && time.Since(begin) < patience; {
			token := fmt.Sprintf("token-agent-%d-end", i)
			_, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, r.ID, wire.MemoryUpdate{Append: token})
			switch {
			case err == nil:
				keep(token)
				i++
			case !errors.Is(err, fold.ErrConflict) && !errors.Is(err, fold.ErrQuarantined):
				t.Errorf("update: %v", err)
			}
		}
	})
	wg.Wait()
	p.clock.forward(time.Minute) // what an editor wrote to a replaced file is looked at
	p.addMemory(wire.MemoryCreate{Content: "Another memory."})
	p.settle()
	p.eventually("the journal has what is on disk", func() bool { return strings.Contains(p.history(), lastLine(readFile(t, path))) })
	text, history := readFile(t, path), p.history()
	for _, token := range tokens {
		if !strings.Contains(text, token) && !strings.Contains(history, token) {
			t.Errorf("%s is lost", token)
		}
	}
	if t.Failed() {
		t.Logf("on disk:\n%s\nproblem: %s", text, p.problem("fold/"+r.Path))
	}
	if len(tokens) < 4*rounds {
		t.Errorf("only %d writes were made", len(tokens))
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// history is all that the journal ever held.
func (p *project) history() string {
	p.t.Helper()
	repo := p.file(".git/foldwatch/repo.git")
	return git(p.t, p.dir, "--git-dir="+repo, "log", "-p", "--format=%H", "refs/foldwatch/journal")
}

func TestAStaleWriteIsRefusedWithBothVersions(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	r := p.addMemory(wire.MemoryCreate{Title: "Retry policy", Content: "Retry three times."})
	path := "fold/" + r.Path
	p.editMemory(path, func(s string) string { return strings.Replace(s, "three", "nine", 1) })
	text := "Retry seven times."
	_, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, r.ID, wire.MemoryUpdate{ExpectedHash: r.ContentHash, Content: &text})
	var c *fold.ConflictError
	if !errors.As(err, &c) {
		t.Fatalf("a stale write was not refused: %v", err)
	}
	if !strings.Contains(string(c.Current), "Retry nine") || !strings.Contains(string(c.Yours), "Retry seven") || c.Have == r.ContentHash {
		t.Errorf("have %s, want %s\ncurrent:\n%s\nyours:\n%s", c.Have, c.Want, c.Current, c.Yours)
	}
	if !strings.Contains(p.read(path), "Retry nine") {
		t.Errorf("the file was written:\n%s", p.read(path))
	}
	m := p.mustGet(r.ID)
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, r.ID, wire.MemoryUpdate{ExpectedHash: m.ContentHash, Content: &text}); err != nil {
		t.Errorf("the hash that get told is refused: %v", err)
	}
	if _, err := p.d.DeleteMemory(p.ctx(), local(), p.slug, r.ID, m.ContentHash); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("a stale delete: %v", err)
	}
}

// TestWritesAreThereAtOnce shows that a write is read back before anything is
// indexed, and found when one waits for it.
func TestWritesAreThereAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 3 {
				word := fmt.Sprintf("wombat%c%c", 'a'+i, 'a'+j)
				r, err := p.d.AddMemory(p.ctx(), local(), p.slug, wire.MemoryCreate{Content: "The " + word + " sleeps."})
				if err != nil {
					t.Errorf("add: %v", err)
					return
				}
				if m, err := p.get(r.ID); err != nil || m.ContentHash != r.ContentHash {
					t.Errorf("not there at once: %v", err)
				}
				reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: word, WaitForPending: true})
				if err != nil || len(reply.Results) == 0 || reply.Results[0].ID != r.ID {
					t.Errorf("%s is not found after waiting: %v, %v", word, reply.Results, err)
				}
				upd, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, r.ID, wire.MemoryUpdate{Append: word + "twice"})
				if err != nil {
					t.Errorf("update: %v", err)
					return
				}
				if m, err := p.get(r.ID); err != nil || m.ContentHash != upd.ContentHash || !strings.Contains(m.Content, word+"twice") {
					t.Errorf("the update is not there at once: %v", err)
				}
			}
		})
	}
	wg.Wait()
	p.settle()
	if s := p.status(); s.ProblemCount != 0 || s.Memories != 25 {
		t.Errorf("%d memories, problems %v", s.Memories, s.Problems)
	}
}
