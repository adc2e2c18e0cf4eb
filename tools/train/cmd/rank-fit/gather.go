package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/tools/train/sets"
)

// A list holds the candidates that were found for one question, not ranked yet.
type list struct {
	question eval.Query
	files    bool // the question is answered by files, not by chunks
	samples  []rank.Sample
	names    []string // of the samples, as the set names results
	right    []bool   // which samples answer the question
}

// gather asks all questions of the sets that may be fitted on, each of the files its
// set is about and of the whole checkout.
func gather(ctx context.Context, all *sets.Sets, c config, stdout io.Writer) (lists []list, err error) {
	say := func(what string) { fmt.Fprintln(stdout, what) }
	corpora, missing, err := all.Prepare(ctx, c.cache, sets.Choice{Sets: fitSets, Clones: c.clones, History: true, Progress: say})
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		say(fmt.Sprintf("without %s, set %s: %s", m.Repo, m.Sets, m.Why))
	}
	have := map[string]bool{}
	for _, p := range corpora {
		have[p.Slug] = true
		if p.Note != "" {
			say(p.Slug + ": " + p.Note)
		}
	}
	s, err := corpus.Open(ctx, corpus.Options{Dir: filepath.Join(c.cache, "daemon")}, corpora...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	unavailable := func(q eval.Query) bool {
		return !have[corpus.Slug(q)] || slices.ContainsFunc(missing, func(m sets.Missing) bool {
			return m.Repo == q.Repo && strings.Contains(m.Sets, q.Set)
		})
	}
	for _, q := range all.Queries(fitSets) {
		if unavailable(q) {
			continue
		}
		for _, whole := range []bool{false, true} {
			f, err := candidates(ctx, s, q, whole)
			if err != nil {
				return nil, err
			}
			lists = append(lists, listsOf(q, f, whole)...)
		}
	}
	return lists, nil
}

// candidates returns what the daemon's search finds for q before it ranks: in the
// files the set is about, or in the whole checkout.
func candidates(ctx context.Context, s *corpus.Searcher, q eval.Query, whole bool) (recall.Found, error) {
	req := s.Request(q)
	if whole {
		req.FilePattern = ""
	}
	f, err := s.Daemon.Candidates(ctx, fold.LocalScope(), corpus.Slug(q), req, nil)
	if err != nil {
		return recall.Found{}, fmt.Errorf("%s: %w", q.QID, err)
	}
	return f, nil
}

// Suffixes of the questions that are asked in a second way: for files instead of
// chunks, of the whole checkout instead of what the set is about, and with the
// votes of past commits.
const (
	ofFiles = " by file"
	ofWhole = " of all"
	ofPast  = " with history"
)

// listsOf returns the lists that one question gives. Where the whole checkout is
// asked, code is ranked beside text. A question that past commits vote on gives a
// list without their votes too: search must do as well where there is no history.
func listsOf(q eval.Query, f recall.Found, whole bool) []list {
	if whole {
		q = renamed(q, ofWhole)
	}
	withPast := f
	f.Votes, f.Messages = nil, nil
	if !strings.HasPrefix(q.Set, "a") {
		return []list{chunkList(q, f), fileList(byFile(q), f)}
	}
	lists := []list{fileList(q, f)}
	if len(withPast.Votes)+len(withPast.Messages) > 0 {
		lists = append(lists, fileList(renamed(q, ofPast), withPast))
	}
	return lists
}

// renamed returns q with a suffix, as a question of a set of its own.
func renamed(q eval.Query, suffix string) eval.Query {
	q.QID, q.Set = q.QID+suffix, q.Set+suffix
	return q
}

// chunkList returns the chunks that may answer q.
func chunkList(q eval.Query, f recall.Found) list {
	l := list{question: q, samples: rank.ChunkSamples(f.Candidates)}
	for _, s := range l.samples {
		name := ""
		if p := f.At[s.Key]; p.Start > 0 {
			name = eval.Span(p.Path, p.Start, p.End)
		}
		l.names, l.right = append(l.names, name), append(l.right, name != "" && answers(q, name))
	}
	return l
}

// answers reports whether the result called name is a target of q.
func answers(q eval.Query, name string) bool {
	return slices.ContainsFunc(q.Rel, func(t eval.Target) bool { return t.Finds(name) })
}

// byFile returns q as a question for files. The targets of set a are all code; sets
// b and c also teach when a manual is wanted.
func byFile(q eval.Query) eval.Query {
	q = renamed(q, ofFiles)
	rel := make([]eval.Target, len(q.Rel))
	for i, t := range q.Rel {
		rel[i] = eval.Target{Path: t.Path}
	}
	q.Rel = rel
	return q
}

// fileList returns the files that may answer q.
func fileList(q eval.Query, f recall.Found) list {
	l := list{question: q, files: true, samples: rank.FileSamples(f.Candidates)}
	paths := make(map[string]string, len(f.At))
	for _, p := range f.At {
		paths[string(p.Memory)] = p.Path
	}
	for _, s := range l.samples {
		path := paths[s.Key]
		l.names, l.right = append(l.names, path), append(l.right, answers(q, path))
	}
	return l
}

// Rows of a table: each kind of result has weights of its own.
const (
	fileRow = iota
	documentRow
	codeRow
	sectionRow
	rows
)

// row returns which row of weights scores a sample of l.
func (l *list) row(s *rank.Sample) int {
	switch {
	case l.files && s.Prose:
		return documentRow
	case l.files:
		return fileRow
	case s.Prose:
		return sectionRow
	}
	return codeRow
}

// ranked returns the indexes of the samples by falling score, ties by key.
func (l *list) ranked(t table) []int {
	score := make([]float64, len(l.samples))
	order := make([]int, len(l.samples))
	for i := range l.samples {
		order[i] = i
		w := &t[l.row(&l.samples[i])]
		for f, v := range l.samples[i].Values {
			score[i] += w[f] * v
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(l.samples[a].Key, l.samples[b].Key))
	})
	return order
}

// top returns the names of the best samples.
func (l *list) top(t table) []string {
	var names []string
	for _, i := range l.ranked(t) {
		if len(names) < eval.Depth {
			names = append(names, l.names[i])
		}
	}
	return names
}
