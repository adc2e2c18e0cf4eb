//go:build accept

package rig

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// unsettled is how long what a person saved may not be in the journal yet: it
// settles in a second, and on a busy machine is committed some later.
const unsettled = 10 * time.Second

// The fates a memory may have been made for.
const (
	fatePlain     = "plain"     // only added to: every word must be in fold/ at the end
	fateDoomed    = "doomed"    // deleted once, edited never: must not come back
	fateContested = "contested" // edited and deleted by anyone: its words must be somewhere
	fateHand      = "hand"      // edited in place by a person's editor, which may overwrite: so must these
)

// Accounts keep what was acknowledged. It is safe for concurrent use.
type accounts struct {
	mu      sync.Mutex
	next    int
	fate    map[string]string   // id → fate
	words   map[string]word     // token → what became of it
	doomed  map[string]int      // the replica that deleted an id and had that acknowledged
	ops     map[string]int      // by kind, for the table
	refused map[string]int      // by error
	trail   map[string][]string // id → what was done to it, and when
	gone    map[int][]string    // replica → when its fold/ was taken away
	start   time.Time
}

// A word is a token that was written.
type word struct {
	id   string
	by   int  // replica
	weak bool // a person's, not yet known to be in the journal
	at   time.Time
}

func newAccounts() *accounts {
	return &accounts{fate: map[string]string{}, words: map[string]word{}, doomed: map[string]int{}, ops: map[string]int{}, refused: map[string]int{}, trail: map[string][]string{}, gone: map[int][]string{}, start: time.Now()}
}

func (l *accounts) token() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return fmt.Sprintf("hq%dqh", l.next)
}

var tokenForm = regexp.MustCompile(`hq[0-9]+qh`)

// note counts what was done to the memory id, and calls fn if it was acknowledged.
func (l *accounts) note(kind, id string, replica int, err error, fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := ""
	if err != nil {
		end = " refused"
	}
	if id != "" {
		l.trail[id] = append(l.trail[id], fmt.Sprintf("%.2f s %s on %d%s", time.Since(l.start).Seconds(), kind, replica, end))
	}
	if err != nil {
		text := err.Error()
		if i := strings.LastIndex(text, ": "); i >= 0 {
			text = text[i+2:]
		}
		l.refused[kind+": "+text]++
		return
	}
	l.ops[kind]++
	fn()
}

// pick returns an id of one of the fates that the replica's fold/ has.
func (l *accounts) pick(rnd *rand.Rand, dir string, fates ...string) string {
	l.mu.Lock()
	var ids []string
	for id, fate := range l.fate {
		if _, gone := l.doomed[id]; slices.Contains(fates, fate) && !gone {
			ids = append(ids, id)
		}
	}
	l.mu.Unlock()
	slices.Sort(ids)
	for range 5 {
		if len(ids) == 0 {
			return ""
		}
		id := ids[rnd.IntN(len(ids))]
		if _, err := os.Lstat(memoryFile(dir, id)); err == nil {
			return id
		}
	}
	return ""
}

func memoryFile(dir, id string) string {
	return filepath.Join(dir, "fold", id[:1], id[1:2], id+".md")
}

// vanish is told before the folder of a replica goes, and when it went. It forgets
// what a person wrote there a moment ago, or since the vanish guard is up: nobody
// told them that it was kept.
func (l *accounts) vanish(r *replica, what string) {
	since := time.Now().Add(-unsettled)
	if up := r.guardedSince(); !up.IsZero() && up.Before(since) {
		since = up
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone[r.n] = append(l.gone[r.n], fmt.Sprintf("%.2f s %s", time.Since(l.start).Seconds(), what))
	maps.DeleteFunc(l.words, func(_ string, w word) bool { return w.weak && w.by == r.n && w.at.After(since) })
}

// guardedSince returns since when the vanish guard of the replica is up, less the
// time that what was saved before may have waited for; zero if it is not.
func (r *replica) guardedSince() time.Time {
	fi, err := os.Stat(filepath.Join(r.dir, ".git", "foldwatch", "guard.json"))
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime().Add(-unsettled)
}

// agent writes memories of one replica until ctx ends. What it does depends on
// what it meets; its errors while the daemon is away are its own.
func (r *replica) agent(ctx context.Context, l *accounts, rnd *rand.Rand) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.idle(rnd)): // agents think
		}
		cl := client.New(r.m.socket())
		switch k := rnd.IntN(20); {
		case k < 7:
			r.add(ctx, cl, l, []string{fatePlain, fatePlain, fateDoomed, fateContested, fateHand}[rnd.IntN(5)])
		case k < 14:
			r.append(ctx, cl, l, l.pick(rnd, r.dir, fatePlain, fateContested, fateHand))
		case k < 16:
			r.remove(ctx, cl, l, l.pick(rnd, r.dir, fateDoomed, fateDoomed, fateContested))
		case k < 18 || !r.syncs:
			r.byHand(l, l.pick(rnd, r.dir, fateHand, fateContested))
		case k < 19:
			_, err := cl.Search(ctx, slug, wire.SearchRequest{Query: "line " + l.token(), Limit: 3})
			l.note("search", "", r.n, err, func() {})
		default:
			out, err := r.sync(ctx)
			if err != nil {
				err = fmt.Errorf("%s", firstLine(out))
			}
			l.note("sync", "", r.n, err, func() {})
		}
	}
}

// idle is how long an agent does nothing.
func (r *replica) idle(rnd *rand.Rand) time.Duration {
	return time.Duration(10+rnd.IntN(120)) * time.Millisecond
}

// sync asks the daemon for one, and returns what the program said.
func (r *replica) sync(ctx context.Context) (string, error) {
	c := r.m.command(r.dir, "sync")
	bound := exec.CommandContext(ctx, c.Path, c.Args[1:]...)
	bound.Dir, bound.Env = c.Dir, c.Env
	out, err := bound.CombinedOutput()
	return string(out), err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (r *replica) add(ctx context.Context, cl *client.Client, l *accounts, fate string) {
	token := l.token()
	reply, err := cl.AddMemory(ctx, slug, wire.MemoryCreate{Title: fate + " " + token, Content: "It began with " + token + ".\n\n- one item\n"})
	l.note("add", reply.ID, r.n, err, func() {
		l.fate[reply.ID] = fate
		l.words[token] = word{id: reply.ID, by: r.n, at: time.Now()}
	})
}

func (r *replica) append(ctx context.Context, cl *client.Client, l *accounts, id string) {
	if id == "" {
		return
	}
	token := l.token()
	_, err := cl.UpdateMemory(ctx, slug, id, wire.MemoryUpdate{Append: "- then came " + token + "\n"})
	l.note("append", id, r.n, err, func() { l.words[token] = word{id: id, by: r.n, at: time.Now()} })
}

func (r *replica) remove(ctx context.Context, cl *client.Client, l *accounts, id string) {
	if id == "" {
		return
	}
	_, err := cl.DeleteMemory(ctx, slug, id, "")
	l.note("delete", id, r.n, err, func() {
		if l.fate[id] == fateDoomed {
			l.doomed[id] = r.n
		}
		// What a person saved a moment ago and nobody told them was kept.
		maps.DeleteFunc(l.words, func(_ string, w word) bool { return w.weak && w.id == id && time.Since(w.at) < unsettled })
	})
}

// byHand rewrites a memory as editors do: read, change a line, write in place.
func (r *replica) byHand(l *accounts, id string) {
	if id == "" {
		return
	}
	path := memoryFile(r.dir, id)
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	token := l.token()
	text := strings.Replace(string(b), "- one item\n", "- one item, and by hand "+token+"\n- one item\n", 1)
	if text == string(b) {
		return
	}
	err = os.WriteFile(path, []byte(text), 0o600)
	l.note("by hand", id, r.n, err, func() { l.words[token] = word{id: id, by: r.n, weak: true, at: time.Now()} })
}

// kept is where the words of one replica are.
type kept struct {
	live    map[string]bool // in a file of fold/
	history map[string]bool // in some object that the sidecar refers to
	ids     map[string]bool // of files in fold/
}

func (r *replica) kept() kept {
	k := kept{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	take := func(set map[string]bool, b []byte) {
		for _, token := range tokenForm.FindAll(b, -1) {
			set[string(token)] = true
		}
	}
	_ = filepath.WalkDir(filepath.Join(r.dir, "fold"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(p) != ".md" {
			return nil //nolint:nilerr // a folder that is gone has no words
		}
		if b, err := os.ReadFile(p); err == nil {
			take(k.live, b)
			if bytes.Contains(b, []byte("\ndeleted: true\n")) {
				return nil
			}
			k.ids[strings.TrimSuffix(d.Name(), ".md")] = true
		}
		return nil
	})
	take(k.history, r.objects())
	for _, name := range []string{"wal", "putoff"} {
		if b, err := os.ReadFile(filepath.Join(r.dir, ".git", "foldwatch", name)); err == nil {
			take(k.history, b)
		}
	}
	return k
}

// sidecar is the repository that holds the history of the replica's fold/.
func (r *replica) sidecar() string { return filepath.Join(r.dir, ".git", "foldwatch", "repo.git") }

// objects returns the content of everything the sidecar's refs lead to.
func (r *replica) objects() []byte {
	git := func(in []byte, args ...string) []byte {
		c := exec.CommandContext(r.m.t.Context(), "git", append([]string{"--git-dir=" + r.sidecar()}, args...)...)
		c.Env, c.Stdin = r.m.env(), bytes.NewReader(in)
		out, err := c.Output()
		if err != nil {
			r.m.t.Fatalf("git %v in the sidecar: %v", args, err)
		}
		return out
	}
	var names bytes.Buffer
	for line := range bytes.Lines(git(nil, "rev-list", "--objects", "--all")) {
		name, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		names.Write(append(name, '\n'))
	}
	return git(names.Bytes(), "cat-file", "--batch", "--buffer")
}

// past tells what became of a memory in a replica: on disk, in the journal and on the
// branch, the newest first.
func (r *replica) past(id string) string {
	path := memoryFile("", id)
	b, err := os.ReadFile(memoryFile(r.dir, id))
	is := "a file"
	if err != nil {
		is = "no file"
	} else if bytes.Contains(b, []byte("\ndeleted: true\n")) {
		is = "a tombstone"
	}
	journal, _ := r.quietly("--git-dir="+r.sidecar(), "log", "-8", "--date=format:%H:%M:%S", "--format=journal %cd %s", "--name-status", "refs/foldwatch/journal", "--", strings.TrimPrefix(path, "fold/"))
	branch, _ := r.quietly("log", "-8", "--date=format:%H:%M:%S", "--format=branch %cd %s", "--name-status", "--", path)
	heads, _ := r.quietly("reflog", "-40", "--date=format:%H:%M:%S", "--format=%gd %gs")
	status, _ := r.quietly("status", "--short", "--branch")
	return fmt.Sprintf("\n\treplica %d: %s\n%s%s%s%s", r.n, is, journal, branch, status, heads)
}

func (l *accounts) fault(token, what string) string {
	w := l.words[token]
	return fmt.Sprintf("%s of the %s memory %s, written by replica %d at %.2f s: %s\n\t%s", token, l.fate[w.id], w.id, w.by,
		w.at.Sub(l.start).Seconds(), what, strings.Join(slices.Concat(l.trail[w.id], l.gone[w.by]), "\n\t"))
}

// check compares the ledger with what all replicas kept.
func (l *accounts) check(all []*replica) (faults []fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	live, history, back := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range all {
		k := r.kept()
		maps.Copy(live, k.live)
		maps.Copy(history, k.history)
		for id := range k.ids {
			if _, gone := l.doomed[id]; gone {
				back[id] = true
			}
		}
	}
	for _, token := range slices.Sorted(maps.Keys(l.words)) {
		w := l.words[token]
		fate := l.fate[w.id]
		switch {
		case live[token]:
		case fate == fatePlain:
			where := "nowhere"
			if history[token] {
				where = "in the history only"
			}
			faults = append(faults, fault{lost, l.fault(token, where)})
		case !history[token]:
			faults = append(faults, fault{lost, l.fault(token, "lost")})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.doomed)) {
		if back[id] {
			var past strings.Builder
			for _, r := range all {
				past.WriteString(r.past(id) + "\n\t" + strings.Join(l.gone[r.n], "\n\t"))
			}
			faults = append(faults, fault{undead, fmt.Sprintf("memory %s was deleted and is back\n\t%s%s", id, strings.Join(l.trail[id], "\n\t"), past.String())})
		}
	}
	return faults
}
