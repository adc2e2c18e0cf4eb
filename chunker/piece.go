package chunker

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A piece is a span of a file on its way to become a chunk.
type piece struct {
	start, end int // bytes, [start, end)
	kind       string
	name       string // qualified; a piece with a name is never merged away
	parent     string
	doc        string
}

// A lineIndex holds where the lines of a file start.
type lineIndex struct {
	starts []int // starts[i] is the first byte of line i+1
	size   int
}

func indexLines(src []byte) *lineIndex {
	x := &lineIndex{starts: make([]int, 1, 1+bytes.Count(src, []byte{'\n'})), size: len(src)}
	for i := 0; ; {
		n := bytes.IndexByte(src[i:], '\n')
		if n < 0 || i+n+1 == len(src) {
			return x
		}
		i += n + 1
		x.starts = append(x.starts, i)
	}
}

// line returns the line, from 1, that byte lies in.
func (x *lineIndex) line(at int) int {
	return sort.Search(len(x.starts), func(i int) bool { return x.starts[i] > at })
}

// start returns the first byte of the line that byte lies in.
func (x *lineIndex) start(at int) int { return x.starts[x.line(at)-1] }

// after returns the first byte of the line after the one that byte lies in.
func (x *lineIndex) after(at int) int {
	if n := x.line(at); n < len(x.starts) {
		return x.starts[n]
	}
	return x.size
}

// lines returns how many lines [start, end) touches.
func (x *lineIndex) lines(start, end int) int {
	if end <= start {
		return 0
	}
	return x.line(end-1) - x.line(start) + 1
}

// finish turns pieces, in order, into chunks that partition src. Pieces that are
// empty or lie in an earlier one vanish, gaps join the piece before them.
func finish(pieces []piece, lang string, src []byte, lines *lineIndex) []fold.Chunk {
	if len(src) == 0 {
		return nil
	}
	whole := pieces[:0]
	at := 0
	for _, p := range pieces {
		p.start, p.end = max(p.start, at), min(p.end, len(src))
		if p.end <= p.start {
			continue
		}
		if len(whole) > 0 {
			whole[len(whole)-1].end = p.start
		} else {
			p.start = 0
		}
		at = p.end
		whole = append(whole, p)
	}
	if len(whole) == 0 {
		whole = append(whole, piece{kind: "lines"})
	}
	whole[len(whole)-1].end = len(src)

	chunks := make([]fold.Chunk, len(whole))
	for i, p := range whole {
		chunks[i] = fold.Chunk{
			Hash:      fold.ChunkHash(src[p.start:p.end]),
			StartLine: lines.line(p.start), EndLine: lines.line(p.end - 1),
			StartByte: p.start, EndByte: p.end,
			NodeType: p.kind, NodeName: clean(p.name), Parent: clean(p.parent),
			Language: lang, Doc: p.doc,
		}
	}
	return chunks
}

// clean makes a name that was cut out of a file fit to be shown and stored: one
// line of at most 512 bytes of UTF-8, without space around it.
func clean(name string) string {
	if len(name) > 512 {
		name = name[:runeStart([]byte(name), 512)]
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "�"))
	if len(name) > 512 { // a byte that is no UTF-8 has become three
		name = name[:runeStart([]byte(name), 512)]
	}
	return strings.TrimSpace(name)
}

// merge joins nameless pieces of fewer than minLines lines with a neighbour:
// a nameless one of the same parent if both fit into maxLines, else the piece
// before, else the one after. What holds nothing but space and closing brackets
// joins the piece before. Frontmatter takes nothing in.
func merge(pieces []piece, src []byte, lines *lineIndex, minLines, maxLines int) []piece {
	small := func(p piece) bool {
		end := p.end
		for end > p.start+1 && isTail(src[end-1:end]) {
			end--
		}
		return p.name == "" && lines.lines(p.start, end) < minLines
	}
	joined := make([]piece, 0, len(pieces))
	for _, p := range pieces {
		if p.end <= p.start {
			continue
		}
		if n := len(joined); n > 0 {
			prev := &joined[n-1]
			alike := p.name == "" && prev.name == "" && p.parent == prev.parent
			if p.name == "" && prev.kind != "frontmatter" && isTail(src[p.start:p.end]) ||
				alike && (small(p) || small(*prev)) && lines.lines(prev.start, p.end) <= maxLines {
				prev.end = p.end
				continue
			}
		}
		joined = append(joined, p)
	}
	out := joined[:0]
	from := -1 // where a small piece starts that joins the next one
	for i, p := range joined {
		if from >= 0 {
			p.start, from = from, -1
		}
		n := len(out)
		switch {
		case !small(p):
		case n > 0 && out[n-1].kind != "frontmatter":
			out[n-1].end = p.end
			continue
		case i+1 < len(joined):
			from = p.start
			continue
		}
		out = append(out, p)
	}
	return out
}

// isTail reports whether b is only space and closing punctuation.
func isTail(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', '\f', '}', ')', ']', ';', ',':
		default:
			return false
		}
	}
	return true
}

// split divides pieces over maxLines lines at the places that cuts returns, which
// is called only if there is such a piece. Parts keep the name. A piece is left
// long where there is no place.
func split(pieces []piece, lines *lineIndex, maxLines int, cuts func() []cut) []piece {
	isLong := func(p piece) bool { return lines.lines(p.start, p.end) > maxLines }
	if !slices.ContainsFunc(pieces, isLong) {
		return pieces
	}
	places := cuts()
	out := make([]piece, 0, len(pieces)+8)
	for _, p := range pieces {
		for isLong(p) {
			at := bestCut(places, p.start, p.end, lines, maxLines)
			if at <= p.start || at >= p.end {
				break
			}
			head := p
			head.end = at
			out = append(out, head)
			p.start, p.doc = at, ""
		}
		out = append(out, p)
	}
	return out
}

// A cut is a place at which a long piece may be divided.
type cut struct {
	at   int // byte
	rank int // depth in the tree: the smaller, the better
}

// bestCut returns the place after start that makes the best first part: of the
// lowest rank among those that leave it a quarter of maxLines to maxLines long,
// the last one of these; else the last that leaves it shorter; else the first
// that leaves it longer; else end.
func bestCut(places []cut, start, end int, lines *lineIndex, maxLines int) int {
	first := lines.line(start)
	best, short, long := -1, -1, end
	for i := sort.Search(len(places), func(i int) bool { return places[i].at > start }); i < len(places); i++ {
		p := places[i]
		if p.at >= end {
			break
		}
		n := lines.line(p.at-1) - first + 1
		if n > maxLines {
			long = p.at
			break
		}
		if n < maxLines/4 {
			short = p.at
			continue
		}
		if best < 0 || p.rank <= places[best].rank {
			best = i
		}
	}
	switch {
	case best >= 0:
		return places[best].at
	case short >= 0:
		return short
	}
	return long
}
