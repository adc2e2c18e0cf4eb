// Package chunker cuts a file into chunks at the bounds of its syntax.
//
// [Cut] works in the calling process. Source from a checkout is not trusted and
// the parsers are C, so the daemon calls [Pool.Cut], which parses in worker
// processes that may crash, hang or grow without harm.
//
// Package syntax parses, package worker runs the processes, package source reads
// lines, comments and tags; only this package knows of chunks. It keeps nothing
// on disk: a [Pool] owns its processes and remembers, as long as it lives, which
// files ended one; [Cut] has no state. Cutting takes CPU time alone, except that
// a Pool waits for a free worker and then for its answer, at most for its deadline.
// Only a Pool returns errors, see [Pool.Cut]. All functions are safe for
// concurrent use; so is a Pool, while a [Cutter] serves one goroutine.
//
// Whatever the strategy, the ranges of a file's chunks partition it: they lie in
// order, with no gap, no overlap and no byte lost. A class is a chunk of its
// header, chunks of its members, and chunks of what lies between them, tied
// together by Parent.
//
// The NodeType of a chunk says what it is:
//
//	function method class struct enum trait interface impl module type macro
//	    a definition; module is also what a file begins with that names its package
//	h1 … h6, frontmatter
//	    a section of prose or of a page, by its heading
//	section article main nav header footer aside form table figure template div
//	head script style …
//	    an element of a page, of HTML, Vue or Svelte
//	key
//	    an entry of data with its value (JSON, YAML, TOML), an assignment (HCL, make)
//	document
//	    one document of a YAML file that says its kind and name: Deployment/api
//	block
//	    a block of HCL: resource.aws_instance.api
//	rule
//	    a rule set or an at-rule of CSS, a rule of make
//	paragraph, lines
//	    what has no name: prose, and all else
package chunker

import (
	"bytes"

	"github.com/foldwatch/foldwatch/chunker/source"
	"github.com/foldwatch/foldwatch/chunker/syntax"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Engine names what cuts source: tree-sitter, or text in a build without cgo,
// where Go is cut by go/parser and all else as text.
func Engine() string { return syntax.Engine }

// Cut cuts the file at path, whose bytes are src, in this process. It never
// fails: what cannot be parsed is cut as text. An empty file has no chunks.
//
// Pass one byte more than opt.MaxBytes of a longer file, or all of it, so that
// Cut sees that it is longer. Src is not kept. Cut is safe for concurrent use.
func Cut(path string, src []byte, opt Options) Result {
	c := NewCutter(opt)
	defer c.Close()
	return c.Cut(path, src)
}

// A Cutter does what [Cut] does, one file at a time, and keeps its parser for the
// next one. It is not safe for concurrent use.
type Cutter struct {
	opt    Options
	parser syntax.Parser
}

// NewCutter returns a Cutter. Close it.
func NewCutter(opt Options) *Cutter { return &Cutter{opt: opt.withDefaults()} }

// Close frees the parser.
func (c *Cutter) Close() { c.parser.Close() }

// Cut cuts the file at path, whose bytes are src; see the function [Cut].
func (c *Cutter) Cut(path string, src []byte) Result {
	lang := Language(path, src)
	text := bytes.TrimPrefix(src, byteOrderMark)
	if len(text) == len(src) || len(text) == 0 || len(src) > c.opt.MaxBytes {
		return c.cut(path, lang, src).asOneChunk(src, c.opt)
	}
	// Before the first comment of a file, the mark would hide that it is the first.
	return c.cut(path, lang, text).withByteOrderMark(src).asOneChunk(src, c.opt)
}

// cut is Cut of a file in a known language.
func (c *Cutter) cut(path, lang string, src []byte) Result {
	if !parses(lang, src, c.opt.MaxBytes) {
		return cutPlain(path, lang, src, c.opt)
	}
	o, timedOut := c.parser.Parse(lang, src, syntax.Options{MaxLines: c.opt.MaxLines, Deadline: c.opt.Deadline, SlowGo: c.opt.SlowGo})
	switch {
	case timedOut:
		return cutText(lang, timedOutStrategy, src, c.opt)
	case o == nil:
		return cutPlain(path, lang, src, c.opt)
	}
	defer o.Close()
	r := bounded(Result{
		Language: lang, Strategy: "syntax", Chunks: chunksOf(o, lang, src, c.opt),
		Imports: unique(o.Imports), Package: clean(o.Package), Doc: o.Doc,
	}, src, c.opt)
	if isComponent(lang) {
		qualify(r.Chunks, componentName(path))
	}
	return r
}

// chunksOf makes chunks of what a parser found in src.
func chunksOf(o *syntax.Outline, lang string, src []byte, opt Options) []fold.Chunk {
	pieces := merge(o.Pieces(), src, o.Lines, opt.MinLines, opt.MaxLines)
	pieces = split(pieces, o.Lines, opt.MaxLines, o.Breaks)
	if len(pieces) == 1 && source.IsTail(src) {
		pieces = splitByLines(pieces, src, o.Lines, opt.LineSize) // a file of blank lines
	}
	return toChunks(pieces, lang, src, o.Lines)
}

// maxChunks is how many chunks a file may be cut into by syntax or markup. A
// file of 250,000 headings is cut as text instead.
const maxChunks = 10_000

// bounded returns r, or src cut as text if r has too many chunks to be of use.
func bounded(r Result, src []byte, opt Options) Result {
	if len(r.Chunks) <= maxChunks {
		return r
	}
	return cutText(r.Language, "text", src, opt)
}

// cutPlain cuts without a parser.
func cutPlain(path, lang string, src []byte, opt Options) Result {
	switch {
	case len(src) > opt.MaxBytes || longestLine(src) > maxLine:
		return cutText(lang, "text", src, opt)
	case lang == "markdown":
		return bounded(cutMarkdown(src, opt), src, opt)
	case lang == "text" && isRST(path):
		return bounded(cutRST(src, opt), src, opt)
	case lang == "html" || lang == "vue" || lang == "svelte":
		return bounded(cutHTML(lang, src, opt), src, opt)
	case hasSyntax[lang] && !isData(lang) || lang == "text":
		return cutText(lang, "text", src, opt)
	}
	return cutLines(lang, src, opt)
}
