package wal

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// A file that is missing at a start, although the wal has a write to it, may be one
// that a crash came before, or one that a person has deleted since. Which of the two is
// told by a mark that a write gets when its file is there. Marks are not synced: after a
// power cut there may be none, and the write is then done again. In tracked mode all
// writes are marked: a file that has not, or not any more, what a marked one wrote is as
// git or a person left it.

// marksName is a file of the state folder: which entries of the wal came to their files.
const marksName = "placed"

// marksMost is from what size in bytes on they are forgotten: where the wal is never
// without an entry nothing else ends them. That is some 30,000 writes.
const marksMost = 1 << 20

// markOf names e, and no other entry of the wal.
func markOf(e *Entry) string {
	sum := sha256.Sum256(e.encode(nil))
	return hex.EncodeToString(sum[:16])
}

func (w *Log) marksPath() string { return filepath.Join(filepath.Dir(w.path), marksName) }

// readMarks reads what the last run marked, if the wal has entries that it is about.
func (w *Log) readMarks(live bool) {
	b, err := os.ReadFile(w.marksPath())
	if err != nil {
		return // none
	}
	if !live { // numbers are given out anew
		_ = os.Remove(w.marksPath()) // else they are of entries that will not be
		return
	}
	w.before = map[string]bool{}
	for mark := range strings.FieldsSeq(string(b)) {
		w.before[mark] = true
	}
}

// Placed marks entries whose files are there, durably. What cannot be marked is as after
// a crash.
func (w *Log) Placed(entries ...Entry) {
	var b strings.Builder
	for i := range entries {
		if e := &entries[i]; e.Base != nil && e.New != nil || e.Head != "" { // no other is asked for
			b.WriteString(markOf(e) + "\n")
		}
	}
	if b.Len() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil { // closed
		return
	}
	if w.marks == nil {
		f, err := os.OpenFile(w.marksPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return
		}
		w.marks = f
	}
	if fi, err := w.marks.Stat(); err == nil && fi.Size() > marksMost {
		_ = w.marks.Truncate(0) // else they go on to grow, and are right
	}
	_, _ = w.marks.WriteString(b.String())
}

// WasPlaced reports whether the file of e, an entry of the last run, was there then.
func (w *Log) WasPlaced(e *Entry) bool { return w.before[markOf(e)] }

// dropMarks forgets all marks, as no entry is live. Called with mu held.
func (w *Log) dropMarks() {
	if w.marks != nil {
		_ = w.marks.Truncate(0) // else they are read, and name no entry
	} else if w.before != nil {
		_ = os.Remove(w.marksPath())
	}
}
