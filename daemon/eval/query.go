// Package eval says how well a search finds: questions with the places that
// answer them, the rankings a search gave, and the figures that compare both.
//
// Questions are mined from source and commits too, where nobody labelled any.
//
// It knows nothing of how rankings are made. Package corpus makes them through the
// search of a daemon of its own.
package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Target is one place that answers a question: a whole file (Start is 0),
// lines Start to End of one, both included and counted from 1, or a memory, by
// the name the set has for it.
type Target struct {
	Path  string `json:"path,omitempty"`
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
	ID    string `json:"id,omitempty"`
}

// A Query is one question with its targets: one line of a set's file.
type Query struct {
	QID   string   `json:"qid"` // unique among all sets
	Set   string   `json:"set"`
	Repo  string   `json:"repo"` // the corpus it is asked of
	Text  string   `json:"text,omitempty"`
	Rel   []Target `json:"rel"`
	Strip *Target  `json:"strip,omitempty"` // lines the corpus does not show: the question stands there
	SHA   string   `json:"sha,omitempty"`   // the commit the question is the message of
	Cat   int      `json:"cat,omitempty"`   // LoCoMo's category
}

// Files reports whether the targets are whole files, so that a result counts by
// its path alone.
func (q Query) Files() bool { return q.Set == "a" }

// A Run is what a search answered: result names by question, best first. A
// result is called "path", "path#L10-42", or by the name of a memory.
type Run map[string][]string

// runLine is one line of a run file.
type runLine struct {
	QID string   `json:"qid"`
	IDs []string `json:"ids"`
}

// ReadQueries returns the questions of a file with one JSON object a line. It
// returns ErrInvalid, with file and line, for what is none.
func ReadQueries(path string) ([]Query, error) {
	qs, err := ReadLines[Query](path)
	if err != nil {
		return nil, err
	}
	for i, q := range qs {
		if q.QID == "" || q.Set == "" || q.Repo == "" {
			return nil, fmt.Errorf("%s: question %d has no qid, set or repo: %w", path, i+1, fold.ErrInvalid)
		}
	}
	return qs, nil
}

// ReadRun returns what a run file holds.
func ReadRun(path string) (Run, error) {
	lines, err := ReadLines[runLine](path)
	if err != nil {
		return nil, err
	}
	run := make(Run, len(lines))
	for _, l := range lines {
		run[l.QID] = l.IDs
	}
	return run, nil
}

// Write writes the answers to questions, in their order, as a run file.
// Questions without an answer are left out.
func (r Run) Write(w io.Writer, questions []Query) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	for _, q := range questions {
		ids, ok := r[q.QID]
		if !ok {
			continue
		}
		if ids == nil {
			ids = []string{}
		}
		if err := e.Encode(runLine{q.QID, ids}); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}

const maxLine = 64 << 20 // bytes of one line

// ReadLines returns the values of a file with one JSON value a line; empty lines
// are skipped. It returns ErrInvalid, with file and line, for what is none.
func ReadLines[T any](path string) (_ []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read set: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 64<<10), maxLine)
	var out []T
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w: %w", path, n, err, fold.ErrInvalid)
		}
		out = append(out, v)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// Span names lines start to end of a file, or the file where start is 0.
func Span(path string, start, end int) string {
	if start == 0 {
		return path
	}
	return fmt.Sprintf("%s#L%d-%d", path, start, end)
}

// ParseSpan is the reverse of [Span]; what holds no lines is a path as a whole.
func ParseSpan(name string) (path string, start, end int) {
	i := strings.LastIndex(name, "#L")
	if i < 0 {
		return name, 0, 0
	}
	first, last, ranged := strings.Cut(name[i+2:], "-")
	if !ranged {
		last = first
	}
	start, err := strconv.Atoi(first)
	end, err2 := strconv.Atoi(strings.TrimPrefix(last, "L"))
	if err != nil || err2 != nil {
		return name, 0, 0
	}
	return name[:i], start, end
}
