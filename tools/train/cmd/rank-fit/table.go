package main

import (
	"bytes"
	"fmt"
	"go/format"
	"math"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/rank"
)

// A table is the weights of all rows.
type table [rows]rank.Row

// bm25 is the formula from before anything was fitted: the baseline, and what
// chooses the candidates to fit on.
func bm25() table {
	chunk := rank.Row{rank.Words: 1, rank.Exact: .15, rank.File: .2}
	file := rank.Row{rank.Words: .7, rank.ChunkTop: 1, rank.Exact: .3}
	return table{fileRow: file, documentRow: file, codeRow: chunk, sectionRow: chunk}
}

// penalty is the weight of |w|²/2 beside the mean loss of a question, chosen by
// what was held out: from 3e-5 to 1e-3 nDCG@10 moves by 0.01.
const penalty = 2e-4

// chunkFeatures and fileFeatures are the features of one kind of result alone.
var (
	chunkFeatures = []rank.Feature{rank.Symbol, rank.File, rank.FileExact, rank.FileTop, rank.Neighbour}
	fileFeatures  = []rank.Feature{rank.ChunkBest, rank.ChunkTop, rank.ChunkName, rank.ChunkExact, rank.ChunkCover}
	// pastFeatures come from past commits, and help with questions for code files.
	pastFeatures = []rank.Feature{rank.Votes, rank.Messages}
	// notFitted are features that the questions of these sets do not exercise.
	notFitted = []rank.Feature{rank.Window, rank.Session, rank.Associated, rank.Person, rank.Time, rank.Asks, rank.Linked}
)

// uses reports whether the weight of f is fitted in a row.
func uses(row int, f rank.Feature) bool {
	switch {
	case slices.Contains(notFitted, f):
		return false
	case slices.Contains(pastFeatures, f):
		return row == fileRow
	case f == rank.Vector: // no use for whole files and for sections
		return row == codeRow
	case f == rank.Words && row != codeRow:
		// Expanded contains Words: fitted together, one gets a negative weight that
		// takes off the other.
		return false
	case row == fileRow || row == documentRow:
		return !slices.Contains(chunkFeatures, f)
	case row == sectionRow && f == rank.Symbol: // sections have titles
		return false
	}
	return !slices.Contains(fileFeatures, f)
}

// listDepth is how many candidates of a question are fitted on.
const listDepth = 100

// fitCase returns the best candidates of l by BM25. They do not depend on the
// weights in the tree, so that a second fit gives what the first gave.
func fitCase(l *list) Case {
	c := Case{Group: l.question.Set + " " + l.question.Repo}
	for _, i := range l.ranked(bm25())[:min(len(l.samples), listDepth)] {
		s := &l.samples[i]
		c.Candidates = append(c.Candidates, Candidate{Row: l.row(s), Values: s.Values[:], Right: l.right[i]})
	}
	return c
}

// fitTable returns the weights fitted on the lists.
func fitTable(lists []list) table {
	cases := make([]Case, len(lists))
	for i := range lists {
		cases[i] = fitCase(&lists[i])
	}
	opt := fitOptions{Rows: rows, Features: len(rank.Features()), L2: penalty}
	for row := range rows {
		use := make([]bool, opt.Features)
		for f := range use {
			use[f] = uses(row, rank.Feature(f))
		}
		opt.Use = append(opt.Use, use)
	}
	var t table
	for row, w := range fitRows(cases, opt) {
		copy(t[row][:], w)
	}
	// Only ratios matter. Positive weights add up to scale, as those of the formula
	// before did: the weights of the other channels were measured beside it.
	const scale = 2
	t.scale(scale, fileRow, documentRow) // ranked together
	t.scale(scale, codeRow, sectionRow)
	return t
}

// scale makes the larger sum of the positive weights of some rows be to, and
// rounds them as they are written.
func (t *table) scale(to float64, of ...int) {
	most := 0.0
	for _, row := range of {
		sum := 0.0
		for _, w := range t[row] {
			sum += max(w, 0)
		}
		most = max(most, sum)
	}
	if most == 0 {
		return
	}
	for _, row := range of {
		for f := range t[row] {
			t[row][f] = math.Round(t[row][f]/most*to*1000) / 1000
		}
	}
}

// runs are three rankings for the same questions: by BM25 alone, by weights fitted
// on the other repositories, and by weights fitted on all.
type runs struct{ bm25, heldOut, fitted eval.Run }

// crossValidate ranks the candidates of every question in these three ways.
func crossValidate(lists []list) runs {
	r := runs{eval.Run{}, eval.Run{}, eval.Run{}}
	all := fitTable(lists)
	without := map[string]table{} // a repository's questions
	for i := range lists {
		repo := lists[i].question.Repo
		if _, ok := without[repo]; ok {
			continue
		}
		var others []list
		for _, l := range lists {
			if l.question.Repo != repo {
				others = append(others, l)
			}
		}
		without[repo] = fitTable(others)
	}
	for i := range lists {
		l := &lists[i]
		r.bm25[l.question.QID] = l.top(bm25())
		r.heldOut[l.question.QID] = l.top(without[l.question.Repo])
		r.fitted[l.question.QID] = l.top(all)
	}
	return r
}

// goNames are the identifiers of the features in package rank.
var goNames = map[rank.Feature]string{
	rank.Words: "Words", rank.Expanded: "Expanded", rank.Exact: "Exact", rank.Body: "Body", rank.Name: "Name", rank.Symbol: "Symbol", rank.Path: "Path",
	rank.Coverage: "Coverage", rank.Coverage2: "Coverage2", rank.NameCoverage: "NameCoverage", rank.NameShare: "NameShare",
	rank.File: "File", rank.FileExact: "FileExact", rank.FileTop: "FileTop", rank.Neighbour: "Neighbour",
	rank.ChunkBest: "ChunkBest", rank.ChunkTop: "ChunkTop", rank.ChunkName: "ChunkName", rank.ChunkExact: "ChunkExact", rank.ChunkCover: "ChunkCover",
	rank.Votes: "Votes", rank.Messages: "Messages", rank.Vector: "Vector",
}

// source returns the table as Go source, with how it was made.
func (t table) source(lists []list, notes []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated by cmd/rank-fit; DO NOT EDIT.\n\npackage rank\n\n")
	b.WriteString("// fitted returns the weights that cmd/rank-fit found: softmax regression over the\n")
	fmt.Fprintf(&b, "// %d best candidates of each question, every set and repository counting the same.\n", listDepth)
	b.WriteString("// Questions for chunks are asked for their files too.\n")
	b.WriteString("// A weight below 0 corrects another: a long function covers much of any question.\n//\n")
	for _, line := range origin(lists) {
		fmt.Fprintf(&b, "// %s\n", line)
	}
	if len(notes) > 0 {
		b.WriteString("//\n")
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "// %s\n", n)
	}
	b.WriteString("func fitted() Weights {\n\treturn Weights{\n")
	for row, name := range [rows]string{"File", "Document", "Code", "Section"} {
		fmt.Fprintf(&b, "\t\t%s: Row{\n", name)
		for f, w := range t[row] {
			if w != 0 {
				fmt.Fprintf(&b, "\t\t\t%s: %.3f, // %s\n", goNames[rank.Feature(f)], w, rank.Feature(f))
			}
		}
		b.WriteString("\t\t},\n")
	}
	b.WriteString("\t}\n}\n")
	return format.Source(b.Bytes())
}

// origin says how many questions of each repository were fitted on.
func origin(lists []list) []string {
	count := map[string]map[string]int{}
	for _, l := range lists {
		set := l.question.Set
		if count[set] == nil {
			count[set] = map[string]int{}
		}
		count[set][l.question.Repo]++
	}
	var out []string
	for set := range strings.SplitSeq(fitSets, "") {
		var parts []string
		for repo, n := range count[set] {
			parts = append(parts, fmt.Sprintf("%s %d", repo, n))
		}
		if slices.Sort(parts); len(parts) > 0 {
			out = append(out, fmt.Sprintf("Set %s: %s.", set, strings.Join(parts, ", ")))
		}
	}
	return out
}
