//go:build accept

package rig

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A corpusSize says what a generated corpus holds, so that two runs can be
// compared.
type corpusSize struct {
	Files, Dirs int
	Bytes       int64
}

// words are what generated texts are made of: enough of them that a search for
// one is no search for everything.
func words(rnd *rand.Rand, n int) []string {
	const onset, vowel = "bcdfghklmnprstvw", "aeiou"
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for range 2 + rnd.IntN(3) {
			b.WriteByte(onset[rnd.IntN(len(onset))])
			b.WriteByte(vowel[rnd.IntN(len(vowel))])
		}
		out[i] = b.String()
	}
	return out
}

// generateMono writes n Go files of about 0.8 KB below dir, 50 a folder and 100
// folders in each of those at the top: 100,000 make 2,021 folders with dir
// itself. The same n always gives the same bytes.
func generateMono(dir string, n int) (corpusSize, error) {
	size := corpusSize{Dirs: 1}
	for i := range n {
		top, sub := i/5000, i/50%100
		parent := filepath.Join(dir, fmt.Sprintf("area%02d", top), fmt.Sprintf("part%02d", sub))
		if i%50 == 0 {
			if size.Dirs++; i%5000 == 0 {
				size.Dirs++
			}
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return size, err
			}
		}
		text := monoFile(i)
		if err := os.WriteFile(filepath.Join(parent, fmt.Sprintf("unit%05d.go", i)), []byte(text), 0o644); err != nil {
			return size, err
		}
		size.Files++
		size.Bytes += int64(len(text))
	}
	return size, nil
}

func monoFile(i int) string {
	rnd := rand.New(rand.NewPCG(21, uint64(i)))
	w := words(rnd, 40)
	var b strings.Builder
	fmt.Fprintf(&b, "// Package part%02d keeps the %s of %s.\npackage part%02d\n\n", i/50%100, w[0], w[1], i/50%100)
	for f := range 3 {
		name := "Do" + strings.ToUpper(w[2+f][:1]) + w[2+f][1:] + fmt.Sprint(i)
		fmt.Fprintf(&b, "// %s makes %s out of %s, as %s wants it.\nfunc %s(%s, %s int) int {\n", name, w[6+f], w[9+f], w[12+f], name, w[15], w[16])
		fmt.Fprintf(&b, "\tif %s > %d {\n\t\treturn %s * %d\n\t}\n", w[15], rnd.IntN(1000), w[16], rnd.IntN(1000))
		fmt.Fprintf(&b, "\t%s := %s + %s\n\treturn %s - %d\n}\n\n", w[17+f], w[15], w[16], w[17+f], rnd.IntN(1000))
	}
	return b.String()
}

// generateFold writes n memories into foldDir as we write them ourselves, with
// the project file that makes the folder ours: decisions and notes of some 1.5 KB
// with tags, keywords, links by id and, in one of ten, a wiki link by title.
func generateFold(foldDir, slug string, n int) (corpusSize, error) {
	size := corpusSize{Dirs: 1 + 16 + 256}
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	project := conf.EncodeProject(conf.Project{ID: "proj_000000000000000000000001", Slug: slug, Name: slug, CreatedAt: made})
	if err := os.MkdirAll(foldDir, 0o755); err != nil {
		return size, err
	}
	if err := os.WriteFile(filepath.Join(foldDir, conf.ProjectFile), project, 0o644); err != nil {
		return size, err
	}
	vocabulary := words(rand.New(rand.NewPCG(31, 0)), 20_000)
	id := func(i int) fold.ID { return fold.SlugID(slug, fmt.Sprintf("memory-%d", i)) }
	title := func(i int) string {
		return fmt.Sprintf("Why %s keeps %s %d", vocabulary[i%len(vocabulary)], vocabulary[(i*7)%len(vocabulary)], i)
	}
	for i := range n {
		rnd := rand.New(rand.NewPCG(32, uint64(i)))
		pick := func() string { return vocabulary[rnd.IntN(len(vocabulary))] }
		m := fold.Memory{
			ID: id(i), Path: id(i).Path(), Title: title(i), Type: []string{"decision", "codebase", "troubleshooting"}[i%3], Source: fold.SourceAgent,
			Author: "agent", Slug: fmt.Sprintf("memory-%d", i), Tags: []string{pick(), pick()}, Keywords: []string{pick(), pick(), pick()},
			Context: "What was decided about " + pick() + " when " + pick() + " came up.", Importance: 0.5,
			CreatedAt: made.Add(time.Duration(i) * time.Minute), UpdatedAt: made.Add(time.Duration(i) * time.Minute),
		}
		for range rnd.IntN(3) {
			m.Links = append(m.Links, fold.Link{From: m.ID, To: id(rnd.IntN(n)), Type: fold.LinkRelated})
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n", m.Title)
		for range 4 {
			for w := range 30 {
				if w > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(pick())
			}
			b.WriteString(".\n\n")
		}
		if i%10 == 0 {
			fmt.Fprintf(&b, "See [[%s]].\n", title(rnd.IntN(n)))
		}
		m.Body = b.String()
		text := fold.Encode(&m, func(to fold.ID) string { return "the one of " + string(to) })
		path := filepath.Join(foldDir, filepath.FromSlash(m.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return size, err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return size, err
		}
		size.Files++
		size.Bytes += int64(len(text))
	}
	return size, nil
}
