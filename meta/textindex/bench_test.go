package textindex_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// benchFiles are the most source files of the toolchain that are indexed.
const benchFiles = 4000

// corpus returns the Go toolchain's own sources as an ingest would put them:
// one document for a file, one for each of its top-level declarations, in
// batches of whole files. It skips b where the sources are not installed.
func corpus(b *testing.B) (batches [][]textindex.Doc, size int64) {
	b.Helper()
	goroot, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	root := filepath.Join(string(bytes.TrimSpace(goroot)), "src")
	if _, serr := os.Stat(root); err != nil || serr != nil {
		b.Skip("the sources of the toolchain are not installed")
	}
	var batch []textindex.Doc
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || files == benchFiles {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		size += int64(len(src))
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		batch = append(batch, fileDocs(filepath.ToSlash(rel), src)...)
		if len(batch) > 3000 {
			batches, batch = append(batches, batch), nil
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return append(batches, batch), size
}

// fileDocs cuts src after every line that is a closing brace or bracket alone.
func fileDocs(path string, src []byte) []textindex.Doc {
	id := fold.FileID("bench", path)
	d := textindex.Doc{
		Memory: id, Path: path, Source: "file", Type: "codebase", Author: "gopher@example.com", Language: "go",
		Tags: []string{"go", strings.Split(path, "/")[0]}, Updated: time.Unix(1_700_000_000, 0),
	}
	file := d
	file.Key, file.Kind, file.Title, file.Keywords = "m:"+string(id), textindex.File, filepath.Base(path), []string{"package", "bench"}
	file.Body = string(src[:min(len(src), 600)])
	docs := []textindex.Doc{file}
	for n := 0; len(src) > 0; n++ {
		end := len(src)
		for _, mark := range []string{"\n}\n", "\n)\n"} {
			if i := bytes.Index(src[:end], []byte(mark)); i >= 0 {
				end = i + len(mark)
			}
		}
		c := d
		c.Kind, c.Body = textindex.Chunk, string(src[:end])
		c.Key = "c:" + fold.ChunkID(id, path, n, fold.ChunkHash(src[:end]))
		if i := strings.Index(c.Body, "func "); i >= 0 {
			c.Symbol, _, _ = strings.Cut(c.Body[i+5:min(len(c.Body), i+80)], "(")
		}
		docs, src = append(docs, c), src[end:]
	}
	return docs
}

// BenchmarkFirstIndex makes an index of the toolchain's sources, in an empty
// folder, until all of it is on disk.
func BenchmarkFirstIndex(b *testing.B) {
	batches, size := corpus(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		dir := b.TempDir()
		x, err := textindex.Open(filepath.Join(dir, "text"), textindex.Options{})
		if err != nil {
			b.Fatal(err)
		}
		start, n := cpuTime(), 0
		for i, docs := range batches {
			if err := x.Apply(b.Context(), int64(i+1), docs, nil); err != nil {
				b.Fatal(err)
			}
			n += len(docs)
		}
		if err := x.Flush(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cpuTime() - start).Seconds(), "cpu-s/op")
		b.ReportMetric(float64(n), "docs/op")
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		disk := int64(0)
		for _, p := range filesBelow(b, dir) {
			info, err := os.Stat(p)
			if err != nil {
				b.Fatal(err)
			}
			disk += info.Size()
		}
		b.ReportMetric(float64(disk)/float64(size), "disk/corpus")
	}
}

// measure runs fn and reports the processor time of it beside the clock's,
// which tells little on a busy machine.
func measure(b *testing.B, fn func()) {
	b.Helper()
	start, n := cpuTime(), 0
	for b.Loop() {
		fn()
		n++
	}
	b.ReportMetric(float64((cpuTime()-start).Microseconds())/float64(n), "cpu-us/op")
}

// BenchmarkSearch asks an index of the toolchain's sources.
func BenchmarkSearch(b *testing.B) {
	batches, _ := corpus(b)
	x := open(b, filepath.Join(b.TempDir(), "text"))
	for i, docs := range batches {
		apply(b, x, int64(i+1), docs)
	}
	if err := x.Flush(); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]textindex.Query{
		"rare":     {Text: "SetMaxOpenConns"},
		"words":    {Text: "limit the number of open connections in the pool"},
		"common":   {Text: "return nil error string func package"},
		"filtered": {Text: "read error from the connection", Filter: textindex.Filter{PathGlob: "net/**", Language: "go"}},
		"glob":     {Text: "read error from the connection", Filter: textindex.Filter{PathGlob: "net/*/c*.go"}},
	} {
		b.Run(name, func(b *testing.B) {
			q.Limit = 100
			measure(b, func() {
				if _, err := x.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkOpen opens a closed index of the toolchain's sources and asks once.
func BenchmarkOpen(b *testing.B) {
	batches, _ := corpus(b)
	dir := filepath.Join(b.TempDir(), "text")
	x, err := textindex.Open(dir, textindex.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i, docs := range batches {
		apply(b, x, int64(i+1), docs)
	}
	for b.Loop() {
		b.StopTimer()
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if x, err = textindex.Open(dir, textindex.Options{}); err != nil {
			b.Fatal(err)
		}
		if _, err := x.Search(b.Context(), textindex.Query{Text: "open connections"}); err != nil {
			b.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
}

// memories returns n memories of some hundred words, in batches.
func memories(n int) (batches [][]textindex.Doc) {
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 30_000)
	for i := range vocabulary {
		for n := i + 26*26; n > 0; n /= 26 {
			vocabulary[i] += string('a' + rune(n%26))
		}
	}
	for i := range n {
		var text strings.Builder
		for range 60 {
			// Few words are common, most are rare.
			text.WriteString(vocabulary[int(float64(len(vocabulary))*math.Pow(r.Float64(), 3))])
			text.WriteByte(' ')
		}
		id := fold.FileID("many", fmt.Sprint(i))
		d := textindex.Doc{
			Key: "m:" + string(id), Kind: textindex.Memory, Memory: id, Title: vocabulary[r.IntN(100)] + " " + vocabulary[i%len(vocabulary)], Body: text.String(),
			Source: "agent", Type: []string{"fact", "decision", "episode"}[i%3], Author: fmt.Sprint("person", i%40), Tags: []string{vocabulary[i%50]},
			Path: fmt.Sprintf("fold/%02x/%s.md", i%256, id), Updated: time.Unix(1_700_000_000+int64(i), 0),
		}
		if i%4000 == 0 {
			batches = append(batches, nil)
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], d)
	}
	return batches
}

// BenchmarkMany opens and asks an index of a hundred thousand memories.
func BenchmarkMany(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "text")
	x, err := textindex.Open(dir, textindex.Options{})
	if err != nil {
		b.Fatal(err)
	}
	batches := memories(100_000)
	start := cpuTime()
	for i, docs := range batches {
		apply(b, x, int64(i+1), docs)
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	b.Logf("made in %v of processor time", cpuTime()-start)
	words := strings.Fields(batches[7][7].Body)
	text := strings.Join(words[:4], " ")
	b.Run("open", func(b *testing.B) {
		used, n := time.Duration(0), 0
		for b.Loop() {
			start := cpuTime()
			if x, err = textindex.Open(dir, textindex.Options{}); err != nil {
				b.Fatal(err)
			}
			if hits, err := x.Search(b.Context(), textindex.Query{Text: text}); err != nil || len(hits) == 0 {
				b.Fatal(hits, err)
			}
			used += cpuTime() - start
			n++
			b.StopTimer()
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		b.ReportMetric(float64(used.Microseconds())/float64(n), "cpu-us/op")
	})
	x = open(b, dir)
	few := map[fold.ID]bool{batches[7][7].Memory: true, batches[9][9].Memory: true}
	for name, q := range map[string]textindex.Query{
		"plain":    {Text: text},
		"type":     {Text: text, Filter: textindex.Filter{Type: "decision"}},
		"glob":     {Text: text, Filter: textindex.Filter{PathGlob: "fold/0*/*a*.md"}},
		"time":     {Text: text, Filter: textindex.Filter{After: time.Unix(1_700_050_000, 0), Tags: []string{batches[0][0].Tags[0]}}},
		"memories": {Text: text, Filter: textindex.Filter{Memories: few}},
	} {
		b.Run(name, func(b *testing.B) {
			measure(b, func() {
				if _, err := x.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkSave puts the documents of one file again, as a save does.
func BenchmarkSave(b *testing.B) {
	batches, _ := corpus(b)
	x := open(b, filepath.Join(b.TempDir(), "text"))
	for i, docs := range batches {
		apply(b, x, int64(i+1), docs)
	}
	if err := x.Flush(); err != nil {
		b.Fatal(err)
	}
	seq := int64(len(batches))
	measure(b, func() {
		seq++
		apply(b, x, seq, batches[0][:12], fmt.Sprint("c:none", seq))
	})
}
