//go:build accept

package rig

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// vocabulary is what generated text is made of.
var vocabulary = strings.Fields(`account address archive balance batch branch buffer bucket cache channel checkpoint
client cluster column commit config context cursor decode delivery digest dispatch document encode endpoint entry
event export fallback fetch field filter format gateway group handler header identity index ingest invoice journal
kernel label ledger limit listener locale lookup manifest market member merge message metric migration module notify
object offset order packet parser payment permission pipeline policy portal prefix profile protocol provider quota
query queue ranking record region registry release render replica report request resolver resource response retry
route schedule schema scope search segment sender series session shard signal snapshot source storage stream subject
subscription summary supplier table tenant token topic trace transfer transport update upload user validator vector
version volume wallet webhook worker`)

// A text generator makes words, always the same for one seed.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 7))} }

func (g generator) word() string { return vocabulary[g.IntN(len(vocabulary))] }

func (g generator) words(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = g.word()
	}
	return strings.Join(all, " ")
}

// name returns an identifier of two words.
func (g generator) name() string {
	a, b := g.word(), g.word()
	return strings.ToUpper(a[:1]) + a[1:] + strings.ToUpper(b[:1]) + b[1:]
}

// goFile returns about 0.8 KB of Go source that occurs once.
func (g generator) goFile(pkg string, i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", pkg)
	for f := range 3 {
		name := fmt.Sprintf("%s%d%c", g.name(), i, 'A'+f)
		fmt.Fprintf(&b, "// %s takes the %s and returns the %s.\nfunc %s(%s int) int {\n\tfor i := range %s {\n\t\t%s += i * %d\n\t}\n\treturn %s\n}\n\n",
			name, g.words(6), g.words(4), name, "n", "n", "n", 2+g.IntN(90), "n")
	}
	return b.String()
}

// mono writes n source files of about 0.8 KB in n/50 directories below dir, and
// commits nothing.
func mono(dir string, n int) error {
	g := newGenerator(3)
	for i := range n {
		d := i / 50
		pkg := fmt.Sprintf("p%04d", d)
		folder := filepath.Join(dir, fmt.Sprintf("area%02d", d%20), pkg)
		if i%50 == 0 {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%06d.go", i)), []byte(g.goFile(pkg, i)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// memories writes n memories of about 1 KB in the folder of memories below dir,
// with the project file, as a machine would find them after a clone.
func memories(dir, slug string, n int) error {
	g := newGenerator(5)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	project := conf.EncodeProject(conf.Project{ID: "proj_" + hex.EncodeToString([]byte("generate")), Slug: slug, Name: slug, CreatedAt: began})
	if err := os.MkdirAll(filepath.Join(dir, "fold"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "fold", "project.toml"), project, 0o600); err != nil {
		return err
	}
	types := []string{"decision", "general", "task", "bug_fix", "convention"}
	for i := range n {
		m := generated(g, slug, i, n)
		m.Type = types[i%len(types)]
		m.CreatedAt = began.Add(time.Duration(i) * time.Minute)
		m.UpdatedAt = m.CreatedAt
		path := filepath.Join(dir, "fold", string(m.ID[:1]), string(m.ID[1:2]))
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(path, string(m.ID)+".md"), fold.Encode(m, nil), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// generated is memory i of n; it links to an earlier one.
func generated(g generator, slug string, i, n int) *fold.Memory {
	key := func(i int) fold.ID { return fold.SlugID(slug, fmt.Sprintf("memory-%06d", i)) }
	m := &fold.Memory{
		ID: key(i), Source: fold.SourceAgent, Author: "rig", Slug: fmt.Sprintf("memory-%06d", i),
		Title: fmt.Sprintf("%s %d", g.name(), i), Tags: []string{g.word(), g.word()},
		Keywords: []string{g.word(), g.word(), g.word()}, Context: g.words(20) + ".",
		Body: fmt.Sprintf("# About %s\n\n%s.\n\n## Why\n\n%s.\n", g.word(), g.words(50), g.words(40)),
	}
	if i > 0 {
		m.Links = []fold.Link{{From: m.ID, To: key(g.IntN(i)), Type: "related"}}
	}
	return m
}
