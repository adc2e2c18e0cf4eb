//go:build accept

package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// A ledger keeps what was acknowledged. It is safe for concurrent use.
type ledger struct {
	tracked bool // the user's git takes memories away and brings them back

	mu      sync.Mutex
	next    int
	hot     []string            // ids of memories that are written most
	fate    map[string]string   // id → fate
	words   map[string]word     // token → what became of it
	doomed  map[string]int      // the replica that deleted an id and had that acknowledged
	ended   map[string]bool     // id and replica of what was removed, or edited by a person, since it was last acknowledged
	ops     map[string]int      // by kind, for the table
	refused map[string]int      // by error
	trail   map[string][]string // id → what was done to it, and when
	gone    map[int][]string    // replica → when its fold/ was taken away
	start   time.Time
}

// A word is a token that was written.
type word struct {
	token string
	id    string
	by    int  // replica
	weak  bool // a person's, not yet known to be in the journal
	at    time.Time
}

func newLedger(tracked bool) *ledger {
	return &ledger{
		tracked: tracked, fate: map[string]string{}, words: map[string]word{}, doomed: map[string]int{}, ops: map[string]int{},
		ended: map[string]bool{}, refused: map[string]int{}, trail: map[string][]string{}, gone: map[int][]string{}, start: time.Now(),
	}
}

func (l *ledger) token() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return fmt.Sprintf("hq%dqh", l.next)
}

var tokenForm = regexp.MustCompile(`hq[0-9]+qh`)

// note counts what was done to the memory id, and calls fn if it was acknowledged.
func (l *ledger) note(kind, id string, r *replica, err error, fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := ""
	if err != nil {
		end = " refused"
	}
	if id != "" {
		l.trail[id] = append(l.trail[id], fmt.Sprintf("%s %s on %d%s", l.since(), kind, r.n, end))
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

func (l *ledger) since() string { return fmt.Sprintf("%.2f s", time.Since(l.start).Seconds()) }

// made, wrote and deleted are called by note: a memory has its first word, one more,
// or is deleted.
func (l *ledger) made(id, fate string, w word) {
	l.fate[id], w.id = fate, id
	l.wrote(w)
}

func (l *ledger) wrote(w word) {
	w.at = time.Now()
	l.words[w.token] = w
	l.ended[fmt.Sprint(w.id, " on ", w.by)] = w.weak
}

func (l *ledger) deleted(id string, by int) {
	if l.fate[id] == fateDoomed {
		l.doomed[id] = by
	}
	// What a person saved a moment ago and nobody told them was kept.
	maps.DeleteFunc(l.words, func(_ string, w word) bool { return w.weak && w.id == id && time.Since(w.at) < unsettled })
}

// removing is told before a memory is deleted: whether it was is not known where the
// answer does not come.
func (l *ledger) removing(id string, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[fmt.Sprint(id, " on ", by)] = true
}

// pick returns an id of one of the fates that the replica's fold/ has, half of the time
// of one that is written most; "" if it finds none.
func (l *ledger) pick(rnd *rand.Rand, r *replica, fates ...string) string {
	l.mu.Lock()
	var ids []string
	for id, fate := range l.fate {
		if _, gone := l.doomed[id]; slices.Contains(fates, fate) && !gone {
			ids = append(ids, id)
		}
	}
	hot := slices.DeleteFunc(slices.Clone(l.hot), func(id string) bool { return !slices.Contains(ids, id) })
	l.mu.Unlock()
	slices.Sort(ids)
	if len(hot) > 0 && rnd.IntN(2) == 0 {
		ids = hot
	}
	for range 5 {
		if len(ids) == 0 {
			return ""
		}
		id := ids[rnd.IntN(len(ids))]
		if _, err := os.Lstat(memoryFile(r.dir, id)); err == nil {
			return id
		}
	}
	return ""
}

func memoryFile(dir, id string) string {
	return filepath.Join(dir, "fold", id[:1], id[1:2], id+".md")
}

// vanish is told when the folder of a replica was taken away. It forgets
// what a person wrote there a moment ago, or since the vanish guard is up: nobody
// told them that it was kept.
func (l *ledger) vanish(r *replica, what string) {
	since := time.Now().Add(-unsettled)
	if up := r.guardedSince(); !up.IsZero() && up.Before(since) {
		since = up
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone[r.n] = append(l.gone[r.n], l.since()+" "+what)
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

// userChanged is told what fold/ of a replica holds before and after a command of the
// user. It forgets what a person saved a moment ago and the command took away, and
// deletions of memories that the command brought back. Where others write meanwhile,
// all that is there, or is gone, after the command counts as its work.
func (l *ledger) userChanged(r *replica, what string, before, after map[string]string, meanwhile bool) {
	had, has := tokensOf(before), tokensOf(after)
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.words, func(token string, w word) bool {
		return w.weak && w.by == r.n && time.Since(w.at) < unsettled && !has[token] && (meanwhile || had[token])
	})
	for _, id := range slices.Sorted(maps.Keys(l.doomed)) {
		if l.doomed[id] == r.n && r.holds(after, id) && (meanwhile || !r.holds(before, id)) {
			delete(l.doomed, id)
			l.trail[id] = append(l.trail[id], fmt.Sprintf("%s brought back by %s on %d", l.since(), what, r.n))
		}
	}
}

// back returns what came back to a replica of the memories deleted there, which are
// those that deletedOn returned before the files were read.
func (l *ledger) back(r *replica, deleted []string, files map[string]string) (faults []fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range deleted {
		if r.holds(files, id) {
			delete(l.doomed, id) // told once
			faults = append(faults, fault{undead, fmt.Sprintf("memory %s was deleted and is back on %d\n\t%s", id, r.n, strings.Join(l.trail[id], "\n\t"))})
		}
	}
	return faults
}

func (l *ledger) deletedOn(r *replica) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, by := range l.doomed {
		if by == r.n {
			ids = append(ids, id)
		}
	}
	return ids
}

// holds reports whether the memory id is among the files of the replica's fold/.
func (r *replica) holds(files map[string]string, id string) bool {
	text, has := files[memoryFile(filepath.Base(r.dir), id)]
	return has && !strings.Contains(text, "\ndeleted: true\n")
}

func tokensOf(files map[string]string) map[string]bool {
	set := map[string]bool{}
	for _, text := range files {
		for _, token := range tokenForm.FindAllString(text, -1) {
			set[token] = true
		}
	}
	return set
}

// sidecar is the repository that holds the history of the replica's fold/.
func (r *replica) sidecar() string { return filepath.Join(r.dir, ".git", "foldwatch", "repo.git") }

// journal returns the words that the replica's own history holds.
func (r *replica) journal() map[string]bool {
	wal, _ := os.ReadFile(filepath.Join(r.dir, ".git", "foldwatch", "wal")) // there may be none
	return tokensOf(map[string]string{"wal": string(wal), "objects": string(r.objects(r.sidecar(), "--all"))})
}

// refs returns the words that the user's branches, remote-tracking branches, tags and
// stashes hold.
func (r *replica) refs() map[string]bool {
	from := []string{"--all"}
	if stashes, code := r.quietly("log", "--walk-reflogs", "--format=%H", "refs/stash", "--"); code == 0 {
		from = append(from, strings.Fields(stashes)...)
	}
	return tokensOf(map[string]string{"objects": string(r.objects(filepath.Join(r.dir, ".git"), from...))})
}

// objects returns the content of everything that some revisions of a repository lead to.
func (r *replica) objects(repo string, from ...string) []byte {
	git := func(in []byte, args ...string) []byte {
		c := exec.CommandContext(r.m.t.Context(), "git", append([]string{"--git-dir=" + repo}, args...)...)
		c.Env, c.Stdin = r.m.env(), bytes.NewReader(in)
		out, err := c.Output()
		if err != nil {
			r.m.t.Fatalf("git %v in %s: %v", args, repo, err)
		}
		return out
	}
	var names bytes.Buffer
	for line := range bytes.Lines(git(nil, append([]string{"rev-list", "--objects"}, from...)...)) {
		name, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		names.Write(append(name, '\n'))
	}
	return git(names.Bytes(), "cat-file", "--batch", "--buffer")
}

// unlisted returns the memories of a replica whose last acknowledged version git took away
// before it had it, and which restore --lost does not list (git.md T4). Where a person
// edited or removed the file since, that is the matter's end.
func (l *ledger) unlisted(r *replica) (faults []fault) {
	out, err := r.m.command(r.dir, "restore", "--lost", "--json").Output()
	var list struct{ Items []struct{ ID string } }
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		return []fault{{unlisted, fmt.Sprintf("replica %d: restore --lost: %v", r.n, err)}}
	}
	listed := map[string]bool{}
	for _, m := range list.Items {
		listed[m.ID] = true
	}
	all, _ := r.quietly("cat-file", "--batch-all-objects", "--batch", "--buffer")
	has := r.foldFiles()
	has["objects of git"] = all
	kept := tokensOf(has)
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := map[string]word{}
	for _, w := range l.words {
		if w.by == r.n && !w.weak && w.at.After(newest[w.id].at) {
			newest[w.id] = w
		}
	}
	for id, w := range newest {
		status, _ := r.quietly("status", "--porcelain", "--", memoryFile("", id))
		if !kept[w.token] && status == "" && !l.ended[fmt.Sprint(id, " on ", r.n)] {
			l.ops["taken away by git"]++
			if !listed[id] {
				faults = append(faults, fault{unlisted, l.fault(w.token, "restore --lost does not list it")})
			}
		}
	}
	return faults
}

// past tells what became of a memory in a replica: on disk, in the journal and on the
// branch, the newest first.
func (r *replica) past(id string) string {
	path := memoryFile("", id)
	is := "no file"
	if _, err := os.Lstat(memoryFile(r.dir, id)); err == nil {
		is = "a file"
	}
	journal, _ := r.quietly("--git-dir="+r.sidecar(), "log", "-8", "--date=format:%H:%M:%S", "--format=journal %cd %s", "--name-status", "refs/foldwatch/journal", "--", strings.TrimPrefix(path, "fold/"))
	branch, _ := r.quietly("log", "-8", "--format=branch %h %s", "--name-status", "--", path)
	return fmt.Sprintf("\n\treplica %d: %s\n%s%s", r.n, is, journal, branch)
}

func (l *ledger) fault(token, what string) string {
	w := l.words[token]
	return fmt.Sprintf("%s of the %s memory %s, written by replica %d at %.2f s: %s\n\t%s", token, l.fate[w.id], w.id, w.by,
		w.at.Sub(l.start).Seconds(), what, strings.Join(slices.Concat(l.trail[w.id], l.gone[w.by]), "\n\t"))
}

// check compares the ledger with what all replicas kept. Beside the branch, words of
// plain memories must be in fold/. Where the user's git rules there, a word may be
// anywhere that it can be had from again.
func (l *ledger) check(all []*replica) (faults []fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	live, history := map[string]bool{}, map[string]bool{}
	came := map[string]bool{}
	for _, r := range all {
		files := r.foldFiles()
		maps.Copy(live, tokensOf(files))
		maps.Copy(history, r.journal())
		if l.tracked {
			maps.Copy(history, r.refs())
		}
		for id, by := range l.doomed {
			if r.holds(files, id) && (!l.tracked || by == r.n) {
				came[id] = true
			}
		}
	}
	for _, token := range slices.Sorted(maps.Keys(l.words)) {
		switch {
		case live[token]:
		case !history[token]:
			faults = append(faults, fault{lost, l.fault(token, "nowhere")})
		case l.fate[l.words[token].id] == fatePlain && !l.tracked:
			faults = append(faults, fault{lost, l.fault(token, "in the history only")})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(came)) {
		var past strings.Builder
		for _, r := range all {
			past.WriteString(r.past(id) + "\n\t" + strings.Join(l.gone[r.n], "\n\t"))
		}
		faults = append(faults, fault{undead, fmt.Sprintf("memory %s was deleted and is back\n\t%s%s", id, strings.Join(l.trail[id], "\n\t"), past.String())})
	}
	return faults
}
