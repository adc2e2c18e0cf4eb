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
)

// A list is what was found for one question, before it is ranked.
type list struct {
	question eval.Query
	files    bool // are looked for, rather than chunks
	samples  []rank.Sample
	names    []string // of the samples, as the set calls them
	right    []bool   // that find a target
}

// gather asks all questions of the sets that may be fitted on.
func gather(ctx context.Context, sets *corpus.Sets, c config, stdout io.Writer) (lists []list, err error) {
	tell := func(what string) { fmt.Fprintln(stdout, what) }
	corpora, missing, err := sets.Prepare(ctx, c.cache, corpus.Choice{Sets: fitSets, Clones: c.clones, History: true, Progress: tell})
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		tell(fmt.Sprintf("without %s, set %s: %s", m.Repo, m.Sets, m.Why))
	}
	have := map[string]bool{}
	for _, p := range corpora {
		have[p.Slug] = true
		if p.Note != "" {
			tell(p.Slug + ": " + p.Note)
		}
	}
	s, err := corpus.Open(ctx, corpus.Options{Dir: filepath.Join(c.cache, "daemon")}, corpora...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	lost := func(q eval.Query) bool {
		return !have[corpus.Slug(q)] || slices.ContainsFunc(missing, func(m corpus.Missing) bool {
			return m.Repo == q.Repo && strings.Contains(m.Sets, q.Set)
		})
	}
	for _, q := range sets.Queries(fitSets) {
		if lost(q) {
			continue
		}
		for _, whole := range []bool{false, true} {
			f, err := s.Candidates(ctx, q, nil, whole)
			if err != nil {
				return nil, err
			}
			lists = append(lists, listsOf(q, f, whole)...)
		}
	}
	return lists, nil
}

// What the questions of a set are called that are asked in another way too: for
// files instead of chunks, of the whole checkout instead of what the set is about,
// and with what past commits say.
const (
	ofFiles = " by file"
	ofWhole = " of all"
	ofPast  = " with history"
)

// listsOf returns what one question teaches. Code is ranked beside text where all
// is asked; without past commits search must do as well.
func listsOf(q eval.Query, f corpus.Found, whole bool) (lists []list) {
	if whole {
		q = called(q, ofWhole)
	}
	past := f
	f.Votes, f.Messages = nil, nil
	if !strings.HasPrefix(q.Set, "a") {
		return []list{chunkList(q, f), fileList(byFile(q), f)}
	}
	if lists = []list{fileList(q, f)}; len(past.Votes)+len(past.Messages) > 0 {
		lists = append(lists, fileList(called(q, ofPast), past))
	}
	return lists
}

// called returns q under another name.
func called(q eval.Query, suffix string) eval.Query {
	q.QID, q.Set = q.QID+suffix, q.Set+suffix
	return q
}

// chunkList returns the chunks that can be the answer of q.
func chunkList(q eval.Query, f corpus.Found) list {
	l, right := list{question: q, samples: rank.ChunkSamples(f.Candidates)}, f.Relevant(q)
	for _, s := range l.samples {
		l.names, l.right = append(l.names, f.Name[s.Key]), append(l.right, right[s.Key])
	}
	return l
}

// byFile returns q as a question for files. Sets b and c teach so when a manual is
// looked for, and when code: the targets of set a are code alone.
func byFile(q eval.Query) eval.Query {
	q = called(q, ofFiles)
	rel := make([]eval.Target, len(q.Rel))
	for i, t := range q.Rel {
		rel[i] = eval.Target{Path: t.Path}
	}
	q.Rel = rel
	return q
}

// fileList returns the files that can be the answer of q.
func fileList(q eval.Query, f corpus.Found) list {
	l := list{question: q, files: true, samples: rank.FileSamples(f.Candidates)}
	paths := make(map[string]string, len(f.At))
	for _, p := range f.At {
		paths[string(p.Memory)] = p.Path
	}
	for _, s := range l.samples {
		path := paths[s.Key]
		l.names = append(l.names, path)
		l.right = append(l.right, slices.ContainsFunc(q.Rel, func(t eval.Target) bool { return t.Finds(path) }))
	}
	return l
}

// Rows of weights.
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

// ranked returns the places of the samples by falling score, ties by key.
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

// answers returns the names of the best samples.
func (l *list) answers(t table) []string {
	var names []string
	for _, i := range l.ranked(t) {
		if len(names) < eval.Depth {
			names = append(names, l.names[i])
		}
	}
	return names
}

// listDepth is how many candidates of a question are learned from.
const listDepth = 100

// fitCase returns the best candidates of l by BM25, as the fit sees them. They do
// not depend on the weights that are committed, so that fitting twice is fitting
// once.
func (l *list) fitCase() Case {
	c := Case{Group: l.question.Set + " " + l.question.Repo}
	for _, i := range l.ranked(startTable())[:min(len(l.samples), listDepth)] {
		s := &l.samples[i]
		c.Candidates = append(c.Candidates, Candidate{Row: l.row(s), Values: s.Values[:], Right: l.right[i]})
	}
	return c
}
