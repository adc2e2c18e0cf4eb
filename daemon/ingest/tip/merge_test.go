package tip

import (
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestMergeGoesByTheClockItWasGiven shows that a stamp from the future is
// clamped by the injected clock, not by that of the machine.
func TestMergeGoesByTheClockItWasGiven(t *testing.T) {
	now := time.Date(2020, 5, 6, 7, 8, 9, 0, time.UTC)
	fo := &Follower{Options: Options{Slug: "app", Now: func() time.Time { return now }}}
	file := func(title string, at time.Time) []byte {
		id := fold.FileID("app", "a.go")
		return fold.Encode(&fold.Memory{ID: id, Path: id.Path(), Title: title, Type: "codebase", Source: fold.SourceFile, FilePath: "a.go", CreatedAt: now.Add(-time.Hour), UpdatedAt: at, Body: "# " + title + "\n"}, nil)
	}
	b, err := fo.merge3(fold.FileID("app", "a.go").Path(), file("A", now.Add(-time.Hour)), file("B", now.Add(-time.Minute)), file("C", now.AddDate(1, 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "2021") {
		t.Errorf("a stamp a year ahead was taken:\n%s", b)
	}
}
