// Package chunker cuts a file into chunks at the bounds of its syntax.
//
// [Cut] works in the calling process. Source from a checkout is not trusted and
// the parsers are C, so the daemon calls [Pool.Cut], which parses in worker
// processes that may crash, hang or grow without harm.
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
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Version names the rules of this package. It is part of the key of cached
// results: whoever changes what Cut returns changes it.
const Version = "4"

// A Result is what one file was cut into.
type Result struct {
	Language string // see [Language]; "" if not known
	Strategy string // syntax, markdown, html, text or lines; text (parser crashed), text (parser timed out)

	// Chunks partition the file, or its first Options.MaxBytes if Truncated.
	// They have no ID and MemoryID yet, see [Assign].
	Chunks []fold.Chunk

	Imports   []string // as written in the source, in order, each once
	Package   string   // as declared by the file; "" if its language has none
	Doc       string   // first sentence of the file's header comment, package doc or module docstring
	Truncated bool     // the file is longer than Options.MaxBytes
}

// Provisional reports whether cutting the same bytes again may give more, because
// the parser ran out of time, which it also does on a machine that is too busy.
// Such a result is good to use but not to be cached.
func (r Result) Provisional() bool { return r.Strategy == timedOutStrategy }

const (
	timedOutStrategy = "text (parser timed out)"
	crashedStrategy  = "text (parser crashed)"
)

// Options says how to cut. The zero Options work.
type Options struct {
	// MinLines is the length in lines below which a nameless chunk joins a
	// neighbour. Zero means 5.
	MinLines int
	// MaxLines is the length in lines above which a chunk is split at the
	// statements in it. Zero means 200.
	MaxLines int
	// LineSize is the length in lines of a chunk of a file without known
	// syntax. Zero means 50.
	LineSize int
	// Whole leaves a file in one piece: it is one chunk. Language, imports and
	// what the file says of itself are found all the same.
	Whole bool
	// MaxBytes is how much of a file is looked at. Longer files are cut as
	// text and marked truncated. Zero means 1 MiB.
	MaxBytes int
	// Deadline is how long a parse may take before the file is cut as text, in
	// CPU time where the system tells. Zero means 1 s: half of what a [Pool]
	// grants a worker.
	Deadline time.Duration
	// SlowGo has Go parsed by tree-sitter as well. Otherwise files without
	// errors are left to go/parser, which finds the same at six times the speed.
	SlowGo bool
}

// Sized returns o with the sizes, Whole and MaxBytes that by sets: one [Pool]
// cuts for projects that want different ones.
func (o Options) Sized(by Options) Options {
	for _, to := range [...]struct {
		size *int
		by   int
	}{{&o.MinLines, by.MinLines}, {&o.MaxLines, by.MaxLines}, {&o.LineSize, by.LineSize}, {&o.MaxBytes, by.MaxBytes}} {
		if to.by > 0 {
			*to.size = to.by
		}
	}
	o.Whole = o.Whole || by.Whole
	return o
}

// Name tells options that cut alike from others. It is "" for those that cut as
// the zero Options do, and part of the key of cached results.
func (o Options) Name() string {
	o = o.withDefaults()
	if d := (Options{}).withDefaults().Sized(o); d == (Options{}).withDefaults() {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d-%d-%t", o.MinLines, o.MaxLines, o.LineSize, o.MaxBytes, o.Whole)
}

const (
	maxLine  = 20 << 10 // bytes; a longer line is no source text that a person wrote
	maxPiece = 16 << 10 // bytes of a chunk cut as text
	headSize = 8 << 10  // bytes looked at to tell text from binary

	// maxChunks is how many chunks a file may be cut into by syntax or
	// markup. A file of 250,000 headings is cut as text instead.
	maxChunks = 10_000

	// maxData is the size in bytes up to which JSON and YAML are parsed. What
	// is longer was written by a program and is read by none but programs, and
	// its tree takes up to a hundred times its size: 255 KB of YAML 26 MB.
	maxData = 256 << 10

	// maxYAML is the nesting up to which YAML is parsed: the scanner of
	// tree-sitter-yaml v0.7.2 writes past its buffer at 254 levels, and an
	// assertion ends the process.
	maxYAML = 200
)

func (o Options) withDefaults() Options {
	if o.MinLines <= 0 {
		o.MinLines = 5
	}
	if o.MaxLines <= 0 {
		o.MaxLines = 200
	}
	if o.LineSize <= 0 {
		o.LineSize = 50
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 20
	}
	if o.Deadline <= 0 {
		o.Deadline = time.Second
	}
	return o
}

// IsBinary reports whether src is no text: a NUL in its first 8 KiB. Such files
// are not to be indexed; Cut would cut them by lines.
func IsBinary(src []byte) bool {
	return bytes.IndexByte(src[:min(len(src), headSize)], 0) >= 0
}

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
	engine engine // parses; differs by build
}

// NewCutter returns a Cutter. Close it.
func NewCutter(opt Options) *Cutter { return &Cutter{opt: opt.withDefaults()} }

// Close frees the parser.
func (c *Cutter) Close() { c.engine.close() }

// Cut cuts the file at path, whose bytes are src; see the function [Cut].
func (c *Cutter) Cut(path string, src []byte) Result {
	lang := Language(path, src)
	text := bytes.TrimPrefix(src, byteOrderMark)
	if len(text) == len(src) || len(text) == 0 || len(src) > c.opt.MaxBytes {
		return c.cut(path, lang, src).joined(src, c.opt)
	}
	// Before the first comment of a file, the mark would hide that it is the first.
	return c.cut(path, lang, text).behindMark(src).joined(src, c.opt)
}

// joined returns r with its chunks as one, if that is wanted.
func (r Result) joined(src []byte, opt Options) Result {
	n := len(r.Chunks)
	if !opt.Whole || n < 2 {
		return r
	}
	last := r.Chunks[n-1]
	r.Chunks = []fold.Chunk{{
		Hash: fold.ChunkHash(src[:last.EndByte]), StartLine: 1, EndLine: last.EndLine, EndByte: last.EndByte,
		NodeType: "lines", Language: r.Language,
	}}
	return r
}

// byteOrderMark is what some editors put before all text.
var byteOrderMark = []byte("\ufeff")

// behindMark returns r, which is of src without its byte order mark, with the
// mark as a part of the first chunk.
func (r Result) behindMark(src []byte) Result {
	for i := range r.Chunks {
		c := &r.Chunks[i]
		c.EndByte += len(byteOrderMark)
		if i > 0 {
			c.StartByte += len(byteOrderMark)
			continue
		}
		c.Hash = fold.ChunkHash(src[:c.EndByte])
	}
	return r
}

// cut is Cut of a file in a known language.
func (c *Cutter) cut(path, lang string, src []byte) Result {
	if !parses(lang, src, c.opt.MaxBytes) {
		return cutPlain(path, lang, src, c.opt)
	}
	o, timedOut := c.engine.outline(lang, src, c.opt)
	switch {
	case timedOut:
		return cutText(lang, timedOutStrategy, src, c.opt)
	case o == nil:
		return cutPlain(path, lang, src, c.opt)
	}
	defer o.free()
	r := Result{
		Language: lang, Strategy: "syntax", Chunks: assemble(o, lang, src, c.opt),
		Imports: unique(o.imports), Package: clean(o.pkg), Doc: o.doc,
	}.bounded(src, c.opt)
	if isComponent(lang) {
		qualify(r.Chunks, componentName(path))
	}
	return r
}

// bounded returns r, or src cut as text if r has too many chunks to be of use.
func (r Result) bounded(src []byte, opt Options) Result {
	if len(r.Chunks) <= maxChunks {
		return r
	}
	return cutText(r.Language, "text", src, opt)
}

// parses reports whether src is to be handed to a parser.
func parses(lang string, src []byte, maxBytes int) bool {
	if isData(lang) {
		maxBytes = min(maxBytes, maxData)
	}
	return hasSyntax[lang] && len(src) > 0 && len(src) <= maxBytes && !IsBinary(src) && longestLine(src) <= maxLine &&
		(lang != "yaml" || yamlNesting(src) <= maxYAML)
}

// yamlNesting returns how deep blocks lie in one another, at most: each begins
// further to the right than the one it lies in, or behind an indicator.
func yamlNesting(src []byte) int {
	deepest := 0
	for len(src) > 0 {
		line, rest, _ := bytes.Cut(src, []byte{'\n'})
		src = rest
		text := bytes.TrimLeft(line, " \t-?:")
		depth := len(line) - len(text)
		for _, mark := range [...]string{"- ", "? ", ": "} {
			depth += bytes.Count(text, []byte(mark))
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// isData reports whether files of a language may be nothing but data, of which
// there may be a lot: beyond maxData they are cut by lines.
func isData(lang string) bool { return lang == "json" || lang == "yaml" }

// cutPlain cuts without a parser.
func cutPlain(path, lang string, src []byte, opt Options) Result {
	switch {
	case len(src) > opt.MaxBytes || longestLine(src) > maxLine:
		return cutText(lang, "text", src, opt)
	case lang == "markdown":
		return cutMarkdown(src, opt).bounded(src, opt)
	case lang == "text" && isRST(path):
		return cutRST(src, opt).bounded(src, opt)
	case lang == "html" || lang == "vue" || lang == "svelte":
		return cutHTML(lang, src, opt).bounded(src, opt)
	case hasSyntax[lang] && !isData(lang) || lang == "text":
		return cutText(lang, "text", src, opt)
	}
	return cutLines(lang, src, opt)
}

// Assign returns chunks with MemoryID and ID set. Equal names (or, where there
// is none, equal strategies) are told apart by their order in the file.
func Assign(memory fold.ID, chunks []fold.Chunk) []fold.Chunk {
	out := make([]fold.Chunk, len(chunks))
	seen := make(map[string]int, len(chunks))
	for i, c := range chunks {
		name := c.NodeName
		if name == "" {
			name = "<" + c.NodeType + ">"
		}
		// The ordinal counts equals: same name and same bytes. Counting the
		// name alone would renumber all later parts when one is inserted.
		key := name + "\x00" + c.Hash
		c.MemoryID = memory
		c.ID = fold.ChunkID(memory, name, seen[key], c.Hash)
		seen[key]++
		out[i] = c
	}
	return out
}

// maxOverlap is how many bytes WithOverlap puts before a chunk, at most.
const maxOverlap = 4 << 10

// Overlaps reports whether chunks[i] begins where a text was cut without regard
// to what it means: by lines or paragraphs, or within a node of syntax that was
// too long and has no name. What has a name begins with it, and a gap between
// nodes begins behind the end of one: they need no more.
func Overlaps(chunks []fold.Chunk, i int) bool {
	if i == 0 {
		return false
	}
	c, before := &chunks[i], &chunks[i-1]
	return (c.NodeType == "lines" || c.NodeType == "paragraph") && c.NodeName == "" &&
		before.NodeType == c.NodeType && before.NodeName == "" && before.Parent == c.Parent && !before.Hidden
}

// WithOverlap returns the bytes of chunks[i] in src with up to lines lines before
// them, at most 4 KiB: the text to embed for a chunk that may begin in the middle
// of a thought, see [Overlaps]. Other chunks come as they are. Nothing is taken
// from a chunk that is hidden, nor from behind one. The result is a slice of src.
func WithOverlap(src []byte, chunks []fold.Chunk, i, lines int) []byte {
	c := &chunks[i]
	first := i // of the chunks that lines may be taken from
	for Overlaps(chunks, first) && c.StartByte-chunks[first].StartByte <= maxOverlap {
		first--
	}
	start := c.StartByte
	for range lines {
		if start == chunks[first].StartByte {
			break
		}
		prev := max(chunks[first].StartByte, bytes.LastIndexByte(src[:start-1], '\n')+1)
		if c.StartByte-prev > maxOverlap {
			break
		}
		start = prev
	}
	return src[start:c.EndByte]
}

func longestLine(src []byte) int {
	longest := 0
	for len(src) > longest {
		i := bytes.IndexByte(src, '\n')
		if i < 0 {
			return max(longest, len(src))
		}
		longest = max(longest, i)
		src = src[i+1:]
	}
	return longest
}

func unique(in []string) []string {
	seen := make(map[string]bool, len(in))
	var out []string
	for _, s := range in {
		if len(s) > 512 {
			continue
		}
		if s = clean(s); s == "" || seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}

// truncate returns at most n bytes of src, ending after a line feed if one lies
// in the last 4 KiB, and never within a rune.
func truncate(src []byte, n int) []byte {
	if len(src) <= n {
		return src
	}
	src = src[:n]
	if i := bytes.LastIndexByte(src, '\n'); i >= 0 && i >= n-4<<10 {
		return src[:i+1]
	}
	return src[:runeStart(src, n)]
}

// runeStart returns the largest i <= n at which src may be cut without dividing
// a rune. Bytes that are no UTF-8 may be cut anywhere.
func runeStart(src []byte, n int) int {
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if i == len(src) {
			if r, size := utf8.DecodeLastRune(src[:i]); r != utf8.RuneError || size != 1 {
				return i
			}
			continue
		}
		if utf8.RuneStart(src[i]) {
			return i
		}
	}
	return n
}
