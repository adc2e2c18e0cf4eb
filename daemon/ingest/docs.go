package ingest

import (
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

func memoryKey(id fold.ID) string { return "m:" + string(id) }
func chunkKey(id string) string   { return "c:" + id }

// memoryDoc is what the text index holds of a memory.
func memoryDoc(row index.Row) textindex.Doc {
	kind := textindex.Memory
	if row.Source == fold.SourceFile {
		kind = textindex.File
	}
	d := filterFields(row)
	d.Key, d.Kind, d.Memory = memoryKey(row.ID), kind, row.ID
	d.Title = row.Title
	d.Body = row.Body
	d.Context = strings.Join([]string{row.Context, row.Subject, row.Relation, row.Object}, " ")
	d.Keywords = row.Keywords
	d.Dates = row.Described == "fold" // what a file says of itself no chunk knows better
	if kind == textindex.Memory {
		// Who said it and when is asked for as often as what.
		d.Context = strings.Join([]string{d.Context, row.Author, dateWords(row)}, " ")
		d.Title, d.Body = titleAndText(row.Title, row.Body)
	}
	return d
}

// dateWords returns the day a memory is about as people write it, "8 May 2023".
func dateWords(row index.Row) string {
	at := row.CreatedAt
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, row.OriginalDate); err == nil {
			at = t
			break
		}
	}
	if at.IsZero() {
		return ""
	}
	return at.Format("2 January 2006")
}

// titleAndText returns what is indexed of a memory: a heading that repeats the
// title is not counted twice, nor a title that is but the beginning of the text.
func titleAndText(title, body string) (string, string) {
	text := strings.TrimSpace(body)
	if line, rest, _ := strings.Cut(text, "\n"); strings.TrimLeft(line, "# ") == title && strings.HasPrefix(line, "#") {
		text = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, strings.TrimRight(title, " …")) {
		title = ""
	}
	return title, text
}

// chunkDoc is what the text index holds of a chunk of src: its name and place,
// and its text unless that holds a secret.
func chunkDoc(row index.Row, c fold.Chunk, src []byte) textindex.Doc {
	d := filterFields(row)
	d.Key, d.Kind, d.Memory = chunkKey(c.ID), textindex.Chunk, row.ID
	d.Symbol = c.NodeName
	if c.Language != "" {
		d.Language = c.Language
	}
	if textindex.Prose(d.Language) {
		// The name of a section is its heading, with those above it.
		d.Kind, d.Title, d.Symbol = textindex.Section, d.Symbol, ""
	}
	if !c.Hidden && c.EndByte <= len(src) {
		d.Body = string(src[c.StartByte:c.EndByte])
	}
	return d
}

// filterFields are the fields by which searches are narrowed; a chunk has those
// of its memory, and the time it had when the chunk was put; see sourceDocs for
// where that is the memory's.
func filterFields(row index.Row) textindex.Doc {
	path := row.FilePath
	if path == "" {
		path = row.Path
	}
	return textindex.Doc{
		Path: path, Tags: row.Tags, Source: string(row.Source), Type: row.Type,
		Author: row.Author, Language: row.Language, Updated: row.UpdatedAt,
	}
}

// sameFilters reports whether two rows put their chunks into the same filters.
// The time is not one of them: of that the memory's own document tells.
func sameFilters(a, b index.Row) bool {
	x, y := filterFields(a), filterFields(b)
	return x.Path == y.Path && x.Source == y.Source && x.Type == y.Type && x.Author == y.Author &&
		x.Language == y.Language && strings.Join(x.Tags, "\x00") == strings.Join(y.Tags, "\x00")
}

// memoryText is what is embedded of a memory (seed 000: content, context,
// keywords, tags).
func memoryText(row index.Row) string {
	return strings.Join([]string{row.Title, row.FilePath, row.Body, row.Context, strings.Join(row.Keywords, " "), strings.Join(row.Tags, " ")}, "\n")
}

// chunkText is what is embedded of a chunk: where it stands, then its text.
func chunkText(path string, c fold.Chunk, text []byte) string {
	return path + " " + c.NodeName + "\n" + string(text)
}
