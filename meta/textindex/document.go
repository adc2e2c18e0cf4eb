package textindex

import (
	"encoding/binary"
	"math"
	"path"
	"strings"
	"time"
	"unsafe"

	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// Kind says what a document is.
type Kind string

// The kinds of document.
const (
	File   Kind = "file"   // the memory of a source file, with the text of the file
	Chunk  Kind = "chunk"  // a span of a file or of a memory
	Memory Kind = "memory" // a memory of its own: written, or about a commit
)

// kinds in the order of Hit lists and of stored sums.
var kinds = [...]Kind{File, Chunk, Memory}

// A Doc is one document to index.
type Doc struct {
	Key    string // "m:<memory id>" or "c:<chunk id>", unique
	Kind   Kind
	Memory fold.ID // the memory it is shown under

	Title   string // of the memory; of a section: its heading and those above it
	Symbol  string // qualified name
	Path    string // of the source file, forward slashes
	Body    string
	Context string // a few sentences, neighbours, date and author in words

	Tags, Keywords                 []string
	Source, Type, Author, Language string    // filtered, not searched
	Updated                        time.Time // filtered
}

// Searched fields, in the order of fieldNames. Each kind has its own.
const (
	body = iota
	symbol
	pathWords
	title
	about // context
	tags
	keywords
	exact
	numFields
)

var fieldNames = [numFields]string{"body", "symbol", "path", "title", "context", "tags", "keywords", "exact"}

// Filtered fields, common to all kinds; values are whole.
const (
	byMemory   = "_memory"
	bySource   = "_source"
	byType     = "_type"
	byAuthor   = "_author"
	byLanguage = "_language"
	byTag      = "_tag"
	byPath     = "_path"
	byFolder   = "_folder" // every folder above the path
	byExt      = "_ext"
	byTime     = "_time" // see timeTerms
)

// everyDoc is a term of the body of every document. Its postings hold the
// length of every body and count the documents of a kind.
const everyDoc = "\x00"

func fieldName(k Kind, f int) string { return string(k) + "." + fieldNames[f] }

// prose reports whether the body is text for people rather than code: there
// phrases tell more (sections: nDCG@10 +0.04), in code they mislead (functions:
// -0.03) and would double the dictionary.
func (d *Doc) prose() bool {
	switch d.Language {
	case "", "markdown", "text", "html":
		return true
	}
	return d.Kind == Memory
}

// A builder makes index documents; it is reused, by one goroutine.
type builder struct{ analysis words.Analysis }

// build returns d as Bleve takes it, and the length of its body in terms.
func (b *builder) build(d *Doc) (*document.Document, int) {
	doc := document.NewDocument(d.Key)
	var joined freqs
	length, prose := 0, d.prose()
	for f, text := range [exact]string{d.Body, d.Symbol, d.Path, d.Title, d.Context, strings.Join(d.Tags, " ; "), strings.Join(d.Keywords, " ; ")} {
		if text == "" && f != body {
			continue
		}
		b.analysis.Reset(text)
		own := b.analysis.Own()
		terms := make(freqs, len(b.analysis.Terms)/2+2)
		for _, s := range b.analysis.Terms {
			terms.add(own.Term(s))
		}
		n := len(b.analysis.Terms)
		if f == body {
			length = max(n, 1)
			terms.add(everyDoc)
			joined = make(freqs, len(b.analysis.Joined)/2+8)
		}
		for _, s := range b.analysis.Joined {
			if f != body || prose || s.Form >= words.Pair {
				joined.add(own.Term(s))
			}
		}
		doc.AddField(&field{name: fieldName(d.Kind, f), length: max(n, 1), freqs: terms.done(), opts: index.IndexField})
	}
	// The joined names are as long as the body, for the length norm.
	doc.AddField(&field{name: fieldName(d.Kind, exact), length: length, freqs: joined.done(), opts: index.IndexField})

	const whole = index.IndexField | index.SkipFreqNorm
	keyword := func(name string, opts index.FieldIndexingOptions, values ...string) {
		terms := make(freqs, len(values))
		for _, v := range values {
			if v != "" {
				terms.add(v)
			}
		}
		if len(terms) > 0 {
			doc.AddField(&field{name: name, length: 1, freqs: terms.done(), opts: opts})
		}
	}
	// Not SkipDVCompression: a merge then hands out the values of other documents.
	keyword(byMemory, whole|index.DocValues, string(d.Memory))
	keyword(bySource, whole, d.Source)
	keyword(byType, whole, d.Type)
	keyword(byAuthor, whole, strings.ToLower(d.Author))
	keyword(byLanguage, whole, strings.ToLower(d.Language))
	keyword(byTag, whole, lowerAll(d.Tags)...)
	keyword(byPath, whole, d.Path)
	keyword(byFolder, whole, folders(d.Path)...)
	keyword(byExt, whole, path.Ext(d.Path))
	keyword(byTime, whole, timeTerms(d.Updated)...)
	return doc, length
}

func lowerAll(s []string) []string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = strings.ToLower(s[i])
	}
	return out
}

// folders returns every folder above p, without the root.
func folders(p string) []string {
	var out []string
	for i := range len(p) {
		if p[i] == '/' && i > 0 {
			out = append(out, p[:i])
		}
	}
	return out
}

// timeShifts are the widths, as powers of two nanoseconds, in which times are
// indexed beside their exact value: 18 minutes, 13 days, 2.3 years. A range is
// then a few wide terms and, at its ends, some narrow ones.
var timeShifts = [...]uint{0, 40, 50, 56}

// nanos returns t in nanoseconds from 1970, clamped to what 64 bits hold, in an
// unsigned form that keeps the order.
func nanos(t time.Time) uint64 {
	var n int64
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		n = math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		n = math.MaxInt64
	default:
		n = t.UnixNano()
	}
	return uint64(n) ^ 1<<63
}

// timeTerm returns the term of level for the range that n falls into.
func timeTerm(level int, n uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte{byte('0' + level)}, n>>timeShifts[level]))
}

func timeTerms(t time.Time) []string {
	out := make([]string, len(timeShifts))
	for level := range timeShifts {
		out[level] = timeTerm(level, nanos(t))
	}
	return out
}

// freqs counts terms.
type freqs map[string]*index.TokenFreq

func (f freqs) add(term string) {
	if tf := f[term]; tf != nil {
		tf.SetFrequency(tf.Frequency() + 1)
		return
	}
	tf := &index.TokenFreq{Term: unsafe.Slice(unsafe.StringData(term), len(term))} // read only
	tf.SetFrequency(1)
	f[term] = tf
}

func (f freqs) done() index.TokenFrequencies { return index.TokenFrequencies(f) }

// A field is one analysed field of a document. It implements index.Field.
type field struct {
	name   string
	length int
	freqs  index.TokenFrequencies
	opts   index.FieldIndexingOptions
}

func (f *field) Name() string                                     { return f.name }
func (f *field) Value() []byte                                    { return nil }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return f.opts }
func (f *field) AnalyzedLength() int                              { return f.length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.freqs }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }
func (f *field) Size() int                                        { return 64 * len(f.freqs) }
