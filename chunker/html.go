package chunker

import (
	"bytes"
	"cmp"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// cutHTML cuts before the tags that carry meaning: headings, sections, articles
// and the like, forms, tables, templates, scripts and styles. It reads tags
// only and knows nothing of what lies in what: it is for builds without parsers
// and for pages that are too long for one.
func cutHTML(lang string, src []byte, opt Options) Result {
	lines := source.IndexLines(src)
	page := source.ReadPage(src)
	pieces := merge(htmlPieces(page.Marks, src, lines), src, lines, opt.MinLines, opt.MaxLines)
	pieces = splitByLines(pieces, src, lines, opt.LineSize*2)
	return Result{
		Language: lang, Strategy: "html", Chunks: toChunks(pieces, lang, src, lines),
		Imports: unique(page.Imports), Doc: source.Sentence(page.Title),
	}
}

// htmlPieces makes each mark the start of a piece. A section takes the heading
// that follows at once in, and its text as name.
func htmlPieces(marks []source.Mark, src []byte, lines *source.Lines) []source.Piece {
	out := []source.Piece{{End: len(src), Kind: "lines"}}
	for _, m := range marks {
		start := m.At
		if first := lines.Start(start); len(bytes.TrimSpace(src[first:start])) == 0 {
			start = first
		}
		last := &out[len(out)-1]
		if source.IsHeading(m.Tag) && !source.IsHeading(last.Kind) && last.Kind != "lines" && last.Kind != "head" && lines.Count(last.Start, start) <= 3 {
			last.Name = cmp.Or(m.Name, last.Name)
			continue
		}
		if start <= last.Start {
			continue
		}
		last.End = start
		out = append(out, source.Piece{Start: start, End: len(src), Kind: m.Tag, Name: m.Name})
	}
	return out
}
