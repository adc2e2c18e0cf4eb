package chunker

import (
	"bytes"
)

// cutText cuts prose, and whatever no parser can be trusted with, by its
// paragraphs: small ones are joined, long ones divided by lines.
func cutText(lang, strategy string, src []byte, opt Options) Result {
	r := Result{Language: lang, Strategy: strategy, Truncated: len(src) > opt.MaxBytes}
	src = truncate(src, opt.MaxBytes)
	lines := indexLines(src)
	var pieces []piece
	start := 0
	blank := false
	for i, at := range lines.starts {
		end := len(src)
		if i+1 < len(lines.starts) {
			end = lines.starts[i+1]
		}
		empty := len(bytes.TrimSpace(src[at:end])) == 0
		if blank && !empty && lines.lines(start, at) >= opt.MinLines {
			pieces = append(pieces, piece{start: start, end: at, kind: "paragraph"})
			start = at
		}
		blank = empty
	}
	pieces = append(pieces, piece{start: start, end: len(src), kind: "paragraph"})
	pieces = merge(pieces, src, lines, opt.MinLines, opt.LineSize)
	pieces = splitByLines(pieces, src, lines, opt.LineSize)
	r.Chunks = finish(pieces, lang, src, lines)
	return r
}

// cutLines cuts a file of unknown syntax every opt.LineSize lines or a little
// earlier: where braces are closed best, then after a blank line, then before a
// line that is not indented.
func cutLines(lang string, src []byte, opt Options) Result {
	lines := indexLines(src)
	pieces := splitByLines([]piece{{end: len(src), kind: "lines"}}, src, lines, opt.LineSize)
	return Result{Language: lang, Strategy: "lines", Chunks: finish(pieces, lang, src, lines)}
}

// splitByLines divides pieces over size lines or maxPiece bytes at line ends,
// and lines longer than maxPiece between runes.
func splitByLines(pieces []piece, src []byte, lines *lineIndex, size int) []piece {
	var out []piece
	for _, p := range pieces {
		for p.start < p.end {
			next := p
			next.end = lineCut(p.start, p.end, src, lines, size)
			out = append(out, next)
			p.start, p.doc = next.end, ""
		}
	}
	return out
}

// lineCut returns the end of the first part of [start, end): always more than
// start. A part shorter than a quarter of size is not left at the end.
func lineCut(start, end int, src []byte, lines *lineIndex, size int) int {
	first := lines.line(start)
	last := lines.line(end - 1)
	if last-first+1 <= size+size/4 && end-start <= maxPiece {
		return end
	}
	stop := func(n int) int { // the end of line n
		if n < len(lines.starts) {
			return min(end, lines.starts[n])
		}
		return end
	}
	depth, least := 0, 0
	best := stop(first)
	if best-start > maxPiece {
		return start + max(1, runeStart(src[start:best], maxPiece))
	}
	for n := first; n <= last && n < first+size && stop(n)-start <= maxPiece; n++ {
		line := src[max(start, lines.starts[n-1]):stop(n)]
		depth += bytes.Count(line, []byte{'{'}) - bytes.Count(line, []byte{'}'})
		weight := 4 * max(0, depth)
		if len(bytes.TrimSpace(line)) > 0 {
			weight += 2 // a blank line is a better end
		}
		if next := stop(n); next < end && (src[next] == ' ' || src[next] == '\t') {
			weight++ // what follows belongs to what came, as in languages without braces
		}
		// In the first half every line is better than the one before.
		if half := first + size/2; n <= half || weight <= least {
			best, least = stop(n), weight
		}
	}
	return best
}
