package textindex

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/segment.golden")

// TestSegmentFormatIsFrozen: what an earlier version wrote is read, and what is
// written now is the same; format.md says what it is.
func TestSegmentFormatIsFrozen(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	docs := []Doc{
		{
			Key: "m:00112233445566aa", Kind: File, Memory: "00112233445566aa", Title: "Opens the pool", Symbol: "pool", Path: "db/pool.go",
			Body: "keeps maxOpenConns connections", Context: "database sql", Tags: []string{"Go", "db"}, Keywords: []string{"connection"},
			Source: "file", Type: "file", Author: "Ann", Language: "Go", Updated: at,
		},
		{Key: "c:8899aabbccddeeff", Kind: Chunk, Memory: "00112233445566aa", Symbol: "pool.Open", Path: "db/pool.go", Body: "func Open(maxOpenConns int) error { return open(open(maxOpenConns)) }", Source: "file", Language: "go", Updated: at, Dates: true},
		{Key: "c:part", Kind: Section, Memory: "00112233445566aa", Title: "Pools", Path: "db/README.md", Body: "A pool opens connections when asked.", Language: "markdown", Updated: at},
		{Key: "m:ffeeddccbbaa9988", Kind: Memory, Memory: "ffeeddccbbaa9988", Title: "Pool size", Body: "We keep the pool small: connections cost memory.", Source: "agent", Type: "decision", Updated: at.Add(time.Hour)},
	}
	name := filepath.Join("testdata", "segment.golden")
	made := gatherAll(t, docs, 2)
	if *update {
		if err := os.WriteFile(name, made.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSegment(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(contents(made, nil), contents(s, nil)); d != "" {
		t.Errorf("the golden segment: -want +got %s", d)
	}
	if !bytes.Equal(made.data, golden) {
		t.Errorf("%d bytes are written where %d were: the format changed, and so must its number", len(made.data), len(golden))
	}
}
