package chunker

import (
	"bytes"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// cutText cuts prose, and whatever no parser can be trusted with, by its
// paragraphs: small ones are joined, long ones divided by lines.
func cutText(lang, strategy string, src []byte, opt Options) Result {
	r := Result{Language: lang, Strategy: strategy, Truncated: len(src) > opt.MaxBytes}
	src = truncate(src, opt.MaxBytes)
	lines := source.IndexLines(src)
	var pieces []source.Piece
	start := 0
	blank := false
	for i, at := range lines.Starts {
		end := lines.End(i + 1)
		empty := len(bytes.TrimSpace(src[at:end])) == 0
		if blank && !empty && lines.Count(start, at) >= opt.MinLines {
			pieces = append(pieces, source.Piece{Start: start, End: at, Kind: "paragraph"})
			start = at
		}
		blank = empty
	}
	pieces = append(pieces, source.Piece{Start: start, End: len(src), Kind: "paragraph"})
	pieces = merge(pieces, src, lines, opt.MinLines, opt.LineSize)
	pieces = splitByLines(pieces, src, lines, opt.LineSize)
	r.Chunks = toChunks(pieces, lang, src, lines)
	return r
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
	return src[:source.RuneStart(src, n)]
}

// cutLines cuts a file of unknown syntax every opt.LineSize lines or a little
// earlier: where braces are closed best, then after a blank line, then before a
// line that is not indented.
func cutLines(lang string, src []byte, opt Options) Result {
	lines := source.IndexLines(src)
	pieces := splitByLines([]source.Piece{{End: len(src), Kind: "lines"}}, src, lines, opt.LineSize)
	return Result{Language: lang, Strategy: "lines", Chunks: toChunks(pieces, lang, src, lines)}
}

const maxPiece = 16 << 10 // bytes of a chunk cut as text

// splitByLines divides pieces over size lines or maxPiece bytes at line ends,
// and lines longer than maxPiece between runes.
func splitByLines(pieces []source.Piece, src []byte, lines *source.Lines, size int) []source.Piece {
	var out []source.Piece
	for _, p := range pieces {
		for p.Start < p.End {
			next := p
			next.End = lineCut(p.Start, p.End, src, lines, size)
			out = append(out, next)
			p.Start, p.Doc = next.End, ""
		}
	}
	return out
}

// lineCut returns the end of the first part of [start, end): always more than
// start. A part shorter than a quarter of size is not left at the end.
func lineCut(start, end int, src []byte, lines *source.Lines, size int) int {
	first := lines.At(start)
	last := lines.At(end - 1)
	if last-first+1 <= size+size/4 && end-start <= maxPiece {
		return end
	}
	stop := func(n int) int { return min(end, lines.End(n)) }
	depth, least := 0, 0
	best := stop(first)
	if best-start > maxPiece {
		return start + max(1, source.RuneStart(src[start:best], maxPiece))
	}
	for n := first; n <= last && n < first+size && stop(n)-start <= maxPiece; n++ {
		line := src[max(start, lines.Starts[n-1]):stop(n)]
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
