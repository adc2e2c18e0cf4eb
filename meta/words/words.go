// Package words is the one analyser of foldwatch: what is indexed, what is
// asked and what is hashed into vectors go through it, so that they meet.
//
// A text is cut into identifiers (runs of letters, digits, '_', and '-' between
// letters), identifiers into words (camelCase, snake_case, kebab-case, digits),
// words into terms (lower case, without accents, lightly stemmed, without stop
// words). Scripts written without spaces give single characters and bigrams.
//
// All functions are pure, total and safe for concurrent use. Input that is not
// UTF-8 is read as if its bad bytes were spaces.
package words

import "unsafe"

// Version changes whenever the terms of some text change. Stores that hold
// terms compare it and begin anew.
const Version = "1"

// MaxTerm is the longest term in bytes; longer words are cut, since nobody
// types them.
const MaxTerm = 64

// maxIdent is the longest run of bytes that is read as an identifier. Longer
// ones are encoded data: they give one term, their first MaxTerm bytes.
const maxIdent = 160

// Analyze returns the terms of text in order, repeated as often as they occur.
func Analyze(text string) []string {
	var a Analysis
	a.Reset(text)
	return a.strings(a.Terms)
}

// Exact returns the joined forms of text in order: every identifier in lower
// case without its separators (maxOpenConns, max_open_conns and max-open-conns
// all give maxopenconns), and every two neighbouring words joined, so that
// "open conns" meets openConns. Nothing here is stemmed.
func Exact(text string) []string {
	var a Analysis
	a.Reset(text)
	return a.strings(a.Joined)
}

// A Span is one term of an [Analysis].
type Span struct {
	Start, End uint32 // bytes of the text, [Start, End)
	lo, hi     uint32 // bytes of Analysis.buf
	Form       Form   // of a joined form
}

// A Form says what a joined form was made from.
type Form uint8

// The forms, the rarest and most telling last.
const (
	Single Form = iota // an identifier of one word
	Phrase             // two neighbouring words of different identifiers
	Pair               // two neighbouring words of one identifier
	Whole              // an identifier of several words
)

// An Analysis is the outcome of one pass over a text. It is reused by Reset,
// which invalidates what Bytes returned before. The zero value is ready.
type Analysis struct {
	Terms  []Span // what [Analyze] returns
	Joined []Span // what [Exact] returns, of the form Least and later ones

	// Least is the first form that is wanted; [Reset] keeps it.
	Least Form

	buf  []byte // lower-cased, folded words and the terms made from them
	prev part   // the word before, of the same sentence; hi = 0 if none
}

// part is one word of an identifier, lower-cased, not stemmed.
type part struct{ lo, hi, start, end uint32 }

// Bytes returns the bytes of s, valid until the next Reset.
func (a *Analysis) Bytes(s Span) []byte { return a.buf[s.lo:s.hi:s.hi] }

// Reset analyses text. Texts over 4 GiB are cut there.
func (a *Analysis) Reset(text string) {
	a.Terms, a.Joined, a.buf, a.prev = a.Terms[:0], a.Joined[:0], a.buf[:0], part{}
	if len(text) > 1<<32-1 {
		text = text[:1<<32-1]
	}
	if want := len(text) / 6; cap(a.Terms) < want {
		// One term per six bytes is what code and prose give on average.
		a.Terms = make([]Span, 0, want)
		a.Joined = make([]Span, 0, 2*want)
		a.buf = make([]byte, 0, 3*len(text))
	}
	a.scan(text)
}

func (a *Analysis) strings(spans []Span) []string {
	// The analysis is dropped by the caller, so its buffer may be shared.
	own := unsafe.String(unsafe.SliceData(a.buf), len(a.buf))
	out := make([]string, len(spans))
	for i, t := range spans {
		out[i] = own[t.lo:t.hi]
	}
	return out
}
