package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxFile is the most bytes of a file that is read; larger ones are tables and
// bundles that a program wrote.
const maxFile = 512 << 10

// A file is one file that pairs are taken from.
type file struct {
	path string // inside the source, with slashes
	text string
}

// skipped are the paths of files from which nothing can be learned: tests and their
// data, copies of other projects, translations, change logs.
var skipped = regexp.MustCompile(`(?i)(^|/)(tests?|testing|testdata|testutil|fixtures?|__tests__|spec|specs|e2e|benches|bench|mocks?|vendor|third_party|node_modules|dist|build|umd|esm5|cjs|locales?|i18n)/|(^|/)[._][^/]|_test\.go$|\.(test|spec|min|bundle)\.[a-z]+$|\.pb\.go$|\.pb\.gw\.go$|zz_generated|\.d\.[cm]?ts$|(changelog|changes|history|release[-_]?notes|licen[cs]e|contributors|authors|code[-_]of[-_]conduct)[^/]*$`)

// generated matches what a program writes into the head of a file.
var generated = regexp.MustCompile(`(?i)code generated|do not edit|@generated|automatically generated|auto-generated|machine generated`)

// copiedByHugo are packages of the Go standard library, and copies of them, that Hugo
// carries in its tree: what is learned of them is learned of Hugo.
var copiedByHugo = regexp.MustCompile(`(^|/)((html|text)/?template|methodlesstemplate|go_templates|fmtsort|testenv|internal/cfg)/`)

// isHeldOut reports whether a file was copied from one of the projects that
// retrieval is measured on: it must not be learned from.
func isHeldOut(text []byte) bool {
	for _, mark := range []string{
		"The Hugo Authors", "gohugoio/hugo", "traefik/traefik", "Containous", "Traefik Labs", "Effect-TS", "from \"effect\"", "from 'effect'",
		"sphinx-doc", "Sphinx team", "tokio-rs", "Tokio Contributors", "Daniel Stenberg", "org.apache.commons.lang", "ReactiveX/rxjs", "reactivex/rxjs",
	} {
		if bytes.Contains(text, []byte(mark)) {
			return true
		}
	}
	return false
}

// each calls f for every file of the source that is learned from, in the order
// of their paths.
func (s source) each(ctx context.Context, f func(file)) error {
	return filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if skipped.MatchString(rel+"/") || copiedByHugo.MatchString(rel+"/") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || skipped.MatchString(rel) || pairsOf(rel) == nil {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxFile {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 || generated.Match(b[:min(len(b), 1024)]) || isHeldOut(b) || isPacked(b) {
			return nil
		}
		f(file{path: rel, text: strings.ReplaceAll(string(b), "\r\n", "\n")})
		return nil
	})
}

// isPacked reports whether a file is minified: its lines are long.
func isPacked(b []byte) bool { return len(b) > 4096 && len(b)/(bytes.Count(b, []byte("\n"))+1) > 200 }

// pairsOf returns the function that takes the pairs from a file, nil if there is none.
func pairsOf(p string) func(file) []textPair {
	switch path.Ext(p) {
	case ".go":
		return goPairs
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts":
		return scriptPairs
	case ".md", ".markdown", ".mdx":
		return sectionPairs
	}
	return nil
}
