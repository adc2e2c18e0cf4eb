package ingest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// TestDescriptionsAreRemembered takes descriptions from the cache: they must be
// what Describe would say, of the content, the blob and the time at hand, and must
// be made anew where an import or a test leads elsewhere.
func TestDescriptionsAreRemembered(t *testing.T) {
	in, names, _ := preparing(t)
	names = append(names, "describe/testdata/tree/web/src/auth/service.ts", "describe/testdata/tree/tools/report.py")
	in.UseFiles(imports.NewFiles(names, nil))
	prepare := func(name string, when time.Time) *cut.File {
		t.Helper()
		pr, err := in.reader.Read(t.Context(), name, index.File{}, false, false)
		if err != nil {
			t.Fatal(err)
		}
		pr.Remember, pr.When = true, when
		in.reader.LookUp(t.Context(), []*cut.File{pr})
		if err := in.reader.Finish(t.Context(), pr); err != nil {
			t.Fatal(err)
		}
		return pr
	}
	first, second := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range names {
		in.described(t.Context(), prepare(name, first))
	}
	if n := in.Count.Describes.Load(); n != int64(len(names)) {
		t.Fatalf("%d descriptions made of %d files", n, len(names))
	}
	for _, name := range names {
		pr := prepare(name, second)
		got, _ := in.described(t.Context(), pr)
		want := describe.Describe(describe.NewSubject(in.Slug, name, pr.File.Blob, pr.Src, pr.Result, second, in.Files()))
		want.ID = fold.FileID(in.Slug, name)
		for i := range want.Links {
			want.Links[i].From = want.ID
		}
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%s: -described +remembered\n%s", name, d)
		}
	}
	if n := in.Count.Describes.Load(); n != int64(len(names)) {
		t.Errorf("%d descriptions made of %d contents", n, len(names))
	}
	if n := in.Count.Parses.Load(); n != int64(len(names)) {
		t.Errorf("%d parses of %d contents", n, len(names))
	}
	// The test's source goes: its description was of a tree that had it.
	in.UseFiles(imports.NewFiles([]string{"embed_test.go"}, nil))
	pr := prepare("embed_test.go", second)
	got, _ := in.described(t.Context(), pr)
	want := describe.Describe(describe.NewSubject(in.Slug, pr.Path, pr.File.Blob, pr.Src, pr.Result, second, in.Files()))
	if got.Title != want.Title || got.Body != want.Body {
		t.Errorf("in another tree: %q, want %q", got.Title, want.Title)
	}
	if n := in.Count.Describes.Load(); n != int64(len(names))+1 {
		t.Errorf("in another tree nothing was described anew: %d", n)
	}
}

// TestRecallRefusesDamage cuts and turns what was remembered: nothing of it is
// taken for a description but what was written.
func TestRecallRefusesDamage(t *testing.T) {
	s := &describe.Subject{Slug: "app", Path: "a.go", Blob: "b", Resolve: func(spec string) (string, bool) { return spec + ".go", true }}
	m := fold.Memory{Title: "T", Aliases: []string{"T"}, Tags: []string{}, Body: "# T\n", Links: []fold.Link{{To: "0123456789abcdef", Type: fold.LinkDependsOn, Weight: 1}}}
	b := encodeDescription(&m, "", []resolved{{"x", "x.go", true}})
	got, _, ok := recall(b, s)
	m.FilePath, m.SourceBlob = "a.go", "b"
	if d := cmp.Diff(m, got); !ok || d != "" {
		t.Fatalf("%t, -written +read\n%s", ok, d)
	}
	for n := range b {
		if _, _, ok := recall(b[:n], s); ok {
			t.Errorf("the first %d bytes of %d are a description", n, len(b))
		}
	}
	if _, _, ok := recall(append(b, 0), s); ok {
		t.Error("a byte more is a description")
	}
	s.Resolve = func(string) (string, bool) { return "", false }
	if _, _, ok := recall(b, s); ok {
		t.Error("an import that leads nowhere does not matter")
	}
}
