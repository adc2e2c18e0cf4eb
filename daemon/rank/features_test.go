package rank_test

import (
	"math"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func values(samples []rank.Sample, key string) rank.Row {
	for _, s := range samples {
		if s.Key == key {
			return s.Values
		}
	}
	return rank.Row{}
}

func TestFeaturesAreSharesOfTheBest(t *testing.T) {
	c := rank.Candidates{
		Files: []rank.Hit{
			{Key: "m:f1", Memory: "f1", Fielded: 4, Ideal: 8, Path: 2, Coverage: 1},
			{Key: "m:f2", Memory: "f2", Fielded: 2, Ideal: 8, Coverage: .5, Prose: true},
		},
		Chunks: []rank.Hit{
			{Key: "c:1", Memory: "f1", Fielded: 4, Ideal: 8, Name: 3, Coverage: 1},
			{Key: "c:2", Memory: "f1", Fielded: 2, Ideal: 8, Coverage: .5},
			{Key: "c:3", Memory: "f2", Fielded: 3, Ideal: 4, Prose: true}, // rarer terms: another dictionary
		},
	}
	files := rank.FileSamples(c)
	f1, f2 := values(files, "f1"), values(files, "f2")
	if f1[rank.Words] != 1 || f2[rank.Words] != .5 || f1[rank.Path] != 1 || f2[rank.Path] != 0 || f2[rank.Coverage2] != .25 {
		t.Errorf("files: %v, %v", f1, f2)
	}
	if f1[rank.ChunkTop] != .625/.75 || f2[rank.ChunkTop] != 1 || f1[rank.ChunkName] != 1 || f2[rank.ChunkBest] != 1 {
		t.Errorf("what chunks give: %v, %v", f1, f2)
	}
	chunks := rank.ChunkSamples(c)
	if v := values(chunks, "c:3"); v[rank.Words] != 1 || v[rank.File] != .5 {
		t.Errorf("chunk of another kind: %v", v)
	}
	if v := values(chunks, "c:1"); math.Abs(v[rank.Words]-.5/.75) > 1e-12 || v[rank.NameCoverage] != 1 || v[rank.File] != 1 {
		t.Errorf("chunk: %v", v)
	}
	for _, s := range files {
		if s.Prose != (s.Key == "f2") {
			t.Errorf("file %s is text for people: %v", s.Key, s.Prose)
		}
	}
}

// turn is a memory that has the first n terms of a question of three, once each.
func turn(id string, has ...int) rank.Hit {
	h := rank.Hit{Key: "m:" + id, Memory: fold.ID(id), Terms: make([]rank.TermCount, 3), K1: 1, Ideal: 3}
	for i := range h.Terms {
		h.Terms[i].Worth = 1
	}
	for _, i := range has {
		h.Terms[i].Count = 1
		h.Fielded += .5
		h.Coverage += 1. / 3
	}
	return h
}

func TestAnAnswerLiesNextToTheQuestion(t *testing.T) {
	c := rank.Candidates{
		Memories: []rank.Hit{turn("asked", 0, 1), turn("other", 2), turn("alone", 2), {Key: "m:answer", Memory: "answer"}, {Key: "m:far", Memory: "far"}},
		Places: map[string]rank.Place{
			"m:asked": {Group: "s1", Ordinal: 1}, "m:answer": {Group: "s1", Ordinal: 2}, "m:other": {Group: "s1", Ordinal: 3}, "m:far": {Group: "s2", Ordinal: 2},
		},
	}
	var ids []string
	for _, r := range rank.Rank(c, rank.Options{}) {
		ids = append(ids, string(r.ID))
	}
	// "answer" shares no word with the question; "far" is next to nothing.
	if len(ids) != 4 || ids[0] != "asked" || ids[3] != "alone" {
		t.Errorf("order = %v, want asked first, alone last, without far", ids)
	}
	v := values(rank.MemorySamples(c), "answer")
	if v[rank.Words] != 0 || v[rank.Window] <= 0 || v[rank.Session] != 1 {
		t.Errorf("answer: %v", v)
	}
}
