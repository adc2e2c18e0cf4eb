package chunker

import (
	"slices"
	"sort"

	"github.com/foldwatch/foldwatch/chunker/source"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// toChunks turns pieces, in order, into chunks that partition src. Pieces that are
// empty or lie in an earlier one vanish, gaps join the piece before them.
func toChunks(pieces []source.Piece, lang string, src []byte, lines *source.Lines) []fold.Chunk {
	if len(src) == 0 {
		return nil
	}
	whole := pieces[:0]
	at := 0
	for _, p := range pieces {
		p.Start, p.End = max(p.Start, at), min(p.End, len(src))
		if p.End <= p.Start {
			continue
		}
		if len(whole) > 0 {
			whole[len(whole)-1].End = p.Start
		} else {
			p.Start = 0
		}
		at = p.End
		whole = append(whole, p)
	}
	if len(whole) == 0 {
		whole = append(whole, source.Piece{Kind: "lines"})
	}
	whole[len(whole)-1].End = len(src)

	chunks := make([]fold.Chunk, len(whole))
	for i, p := range whole {
		chunks[i] = fold.Chunk{
			Hash:      fold.ChunkHash(src[p.Start:p.End]),
			StartLine: lines.At(p.Start), EndLine: lines.At(p.End - 1),
			StartByte: p.Start, EndByte: p.End,
			NodeType: p.Kind, NodeName: clean(p.Name), Parent: clean(p.Parent),
			Language: lang, Doc: p.Doc,
		}
	}
	return chunks
}

// merge joins nameless pieces of fewer than minLines lines with a neighbour:
// a nameless one of the same parent if both fit into maxLines, else the piece
// before, else the one after. What holds nothing but space and closing brackets
// joins the piece before. Frontmatter takes nothing in.
func merge(pieces []source.Piece, src []byte, lines *source.Lines, minLines, maxLines int) []source.Piece {
	small := func(p source.Piece) bool {
		end := p.End
		for end > p.Start+1 && source.IsTail(src[end-1:end]) {
			end--
		}
		return p.Name == "" && lines.Count(p.Start, end) < minLines
	}
	joined := make([]source.Piece, 0, len(pieces))
	for _, p := range pieces {
		if p.End <= p.Start {
			continue
		}
		if n := len(joined); n > 0 {
			prev := &joined[n-1]
			alike := p.Name == "" && prev.Name == "" && p.Parent == prev.Parent
			if p.Name == "" && prev.Kind != "frontmatter" && source.IsTail(src[p.Start:p.End]) ||
				alike && (small(p) || small(*prev)) && lines.Count(prev.Start, p.End) <= maxLines {
				prev.End = p.End
				continue
			}
		}
		joined = append(joined, p)
	}
	out := joined[:0]
	from := -1 // where a small piece starts that joins the next one
	for i, p := range joined {
		if from >= 0 {
			p.Start, from = from, -1
		}
		n := len(out)
		switch {
		case !small(p):
		case n > 0 && out[n-1].Kind != "frontmatter":
			out[n-1].End = p.End
			continue
		case i+1 < len(joined):
			from = p.Start
			continue
		}
		out = append(out, p)
	}
	return out
}

// split divides pieces over maxLines lines at the best of the breaks, which are asked
// for only if there is such a piece. Parts keep the name. A piece is left
// long where there is no place.
func split(pieces []source.Piece, lines *source.Lines, maxLines int, breaks func() []source.Break) []source.Piece {
	isLong := func(p source.Piece) bool { return lines.Count(p.Start, p.End) > maxLines }
	if !slices.ContainsFunc(pieces, isLong) {
		return pieces
	}
	places := breaks()
	out := make([]source.Piece, 0, len(pieces)+8)
	for _, p := range pieces {
		for isLong(p) {
			at := bestBreak(places, p.Start, p.End, lines, maxLines)
			if at <= p.Start || at >= p.End {
				break
			}
			head := p
			head.End = at
			out = append(out, head)
			p.Start, p.Doc = at, ""
		}
		out = append(out, p)
	}
	return out
}

// bestBreak returns the place after start that makes the best first part: of the
// lowest rank among those that leave it a quarter of maxLines to maxLines long,
// the last one of these; else the last that leaves it shorter; else the first
// that leaves it longer; else end.
func bestBreak(places []source.Break, start, end int, lines *source.Lines, maxLines int) int {
	first := lines.At(start)
	best, short, long := -1, -1, end
	for i := sort.Search(len(places), func(i int) bool { return places[i].At > start }); i < len(places); i++ {
		p := places[i]
		if p.At >= end {
			break
		}
		n := lines.At(p.At-1) - first + 1
		if n > maxLines {
			long = p.At
			break
		}
		if n < maxLines/4 {
			short = p.At
			continue
		}
		if best < 0 || p.Rank <= places[best].Rank {
			best = i
		}
	}
	switch {
	case best >= 0:
		return places[best].At
	case short >= 0:
		return short
	}
	return long
}
