package words

import (
	"unicode"
	"unicode/utf8"
)

// maxParts is the most words one identifier is split into.
const maxParts = 32

// maxGap is the most bytes between two words of one phrase: " of the ".
const maxGap = 12

// class of one rune, as the scanner sees it.
type class uint8

const (
	sep   class = iota // between identifiers
	lower              // letter without an upper case form, or in lower case
	upper              // letter in upper or title case
	digit              // decimal digit
	join               // '_': inside an identifier, between words
	dash               // '-': inside an identifier if letters stand on both sides
	mark               // combining mark: belongs to the letter before it
	dense              // letter of a script written without spaces
)

// ascii classes, so that most text never leaves the table.
var ascii = func() (t [utf8.RuneSelf]class) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = lower
		t[c-'a'+'A'] = upper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = digit
	}
	t['_'], t['-'] = join, dash
	return t
}()

// latin holds the base letter, in lower case, of U+00C0 to U+017F. Letters
// without one (þ, ß, ŋ) stand for themselves.
var latin = []rune("aaaaaaæceeeeiiiiðnooooo×ouuuuyþßaaaaaaæceeeeiiiiðnooooo÷ouuuuyþy" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiĳĳjjkkĸllllllllllnnnnnnŉŋŋ" +
	"ooooooœœrrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs")

// classify returns the class of r, which is not ASCII, and what it is folded to.
func classify(r rune) (class, rune) {
	switch {
	case r == utf8.RuneError:
		return sep, r
	case r >= 0xC0 && r <= 0x17F:
		if r == 0xD7 || r == 0xF7 { // × ÷
			return sep, r
		}
		c := lower
		if unicode.IsUpper(r) {
			c = upper
		}
		return c, latin[r-0xC0]
	case r >= 0x300 && r <= 0x36F:
		return mark, 0 // accents written apart, as macOS does in file names
	case r >= 0xFF10 && r <= 0xFF19:
		return digit, r - 0xFF10 + '0'
	case r >= 0xFF21 && r <= 0xFF3A:
		return upper, r - 0xFF21 + 'a'
	case r >= 0xFF41 && r <= 0xFF5A:
		return lower, r - 0xFF41 + 'a'
	case isDense(r):
		return dense, r
	case unicode.IsUpper(r) || unicode.IsTitle(r):
		return upper, unicode.ToLower(r)
	case unicode.IsLetter(r):
		return lower, r
	case unicode.IsMark(r):
		return mark, r
	case unicode.IsDigit(r):
		return digit, r
	}
	return sep, r
}

// isDense reports whether r is a letter of a script without spaces between
// words: Han, kana, Hangul (whose particles cling to the noun), Thai, Lao,
// Khmer, Myanmar.
func isDense(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF, // Thai, Lao
		r >= 0x1000 && r <= 0x109F,   // Myanmar
		r >= 0x1780 && r <= 0x17FF,   // Khmer
		r >= 0x3040 && r <= 0x30FF,   // kana
		r >= 0x3400 && r <= 0x4DBF,   // Han A
		r >= 0x4E00 && r <= 0x9FFF,   // Han
		r >= 0xAC00 && r <= 0xD7AF,   // Hangul
		r >= 0xF900 && r <= 0xFAFF,   // Han, compatibility
		r >= 0xFF66 && r <= 0xFF9D,   // kana, half width
		r >= 0x20000 && r <= 0x3FFFF: // Han B and later
		return unicode.IsLetter(r) || unicode.IsMark(r)
	}
	return r == 0x3005 || r == 0x3007 // 々 〇
}

// scan cuts text into identifiers and runs of dense scripts.
func (a *Analysis) scan(text string) {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if k := ascii[c]; k == sep || k == join || k == dash {
				i++
				continue
			}
			i = a.identifier(text, i)
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch k, _ := classify(r); k {
		case sep, mark:
			i += n
		case dense:
			i = a.dense(text, i)
		default:
			i = a.identifier(text, i)
		}
	}
}

// identifier reads the identifier that starts at text[i] and returns where it
// ends. It always moves on: text[i] is a letter or a digit.
func (a *Analysis) identifier(text string, i int) int {
	var parts [maxParts]part
	n, start, base := 0, i, len(a.buf)
	cur := part{lo: uint32(base), start: uint32(i)}
	cut := func(at int) {
		cur.hi, cur.end = uint32(len(a.buf)), uint32(at)
		if cur.hi > cur.lo && n < maxParts {
			parts[n] = cur
			n++
		}
		cur = part{lo: uint32(len(a.buf)), start: uint32(at)}
	}
	prev := sep
	for i < len(text) {
		c, w := text[i], 1
		var k class
		r := rune(c)
		if c < utf8.RuneSelf {
			k = ascii[c]
			if k == upper {
				r |= 0x20
			}
		} else {
			r, w = utf8.DecodeRuneInString(text[i:])
			k, r = classify(r)
		}
		switch k {
		case lower:
			if prev == digit {
				cut(i)
			}
		case upper:
			if prev == lower || prev == digit || prev == upper && wordStarts(text, i+w) {
				cut(i)
			}
		case digit:
			if prev == lower || prev == upper {
				cut(i)
			}
		case mark:
			if r != 0 {
				a.buf = utf8.AppendRune(a.buf, r)
			}
			i += w
			continue
		case join:
			cut(i)
			for i < len(text) && text[i] == '_' {
				i++
			}
			prev, cur.start = sep, uint32(i)
			continue
		case dash:
			if (prev == lower || prev == upper) && letterAt(text, i+1) {
				cut(i)
				i++
				prev, cur.start = sep, uint32(i)
				continue
			}
			fallthrough
		default:
			return a.finish(text, parts[:n], cur, base, start, i)
		}
		if r < utf8.RuneSelf {
			a.buf = append(a.buf, byte(r))
		} else {
			a.buf = utf8.AppendRune(a.buf, r)
		}
		prev, i = k, i+w
	}
	return a.finish(text, parts[:n], cur, base, start, i)
}

// wordStarts reports whether the upper case letter before text[i] begins a new
// word, as the S in HTTPServer does, and the L in URLs does not.
func wordStarts(text string, i int) bool {
	if i >= len(text) {
		return false
	}
	c := text[i]
	if c >= utf8.RuneSelf {
		r, _ := utf8.DecodeRuneInString(text[i:])
		k, _ := classify(r)
		return k == lower
	}
	if ascii[c] != lower {
		return false
	}
	return c != 's' || i+1 < len(text) && ascii[text[i+1]&0x7F] == lower && text[i+1] < utf8.RuneSelf
}

// letterAt reports whether an identifier may go on with text[i] after a dash.
func letterAt(text string, i int) bool {
	if i >= len(text) {
		return false
	}
	if c := text[i]; c < utf8.RuneSelf {
		return ascii[c] == lower || ascii[c] == upper
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	k, _ := classify(r)
	return k == lower || k == upper
}

// finish emits the terms of one identifier and returns end.
func (a *Analysis) finish(text string, parts []part, cur part, base, start, end int) int {
	if cur.hi = uint32(len(a.buf)); cur.hi > cur.lo && len(parts) < maxParts {
		cur.end = uint32(end)
		parts = append(parts, cur)
	}
	if len(parts) == 0 {
		return end
	}
	if end-start > maxIdent || len(parts) == maxParts {
		// Encoded data: one term, so that a lock file does not fill the index.
		hi := base + cutRunes(a.buf[base:], MaxTerm)
		a.buf = a.buf[:hi]
		s := Span{Start: uint32(start), End: uint32(end), lo: uint32(base), hi: uint32(hi), Form: Single}
		a.Terms, a.prev = append(a.Terms, s), part{}
		if a.Least <= Single {
			a.Joined = append(a.Joined, s)
		}
		return end
	}
	whole := part{parts[0].lo, parts[len(parts)-1].hi, uint32(start), uint32(end)}
	switch {
	case len(parts) > 1:
		a.join(whole, whole, Whole)
	case a.Least <= Single && !isStop(a.buf[whole.lo:whole.hi]):
		a.join(whole, whole, Single)
	}
	for _, p := range parts {
		w := a.buf[p.lo:p.hi]
		if isStop(w) {
			continue
		}
		switch q := a.prev; {
		case q.hi == 0:
		case q.start >= whole.start: // inside this identifier
			if len(parts) > 2 {
				a.join(q, p, Pair)
			}
		case a.Least <= Phrase && near(text, q.end, p.start):
			a.join(q, p, Phrase)
		}
		a.prev = p
		a.term(p)
	}
	return end
}

// join emits p and q as one joined form; p may be q.
func (a *Analysis) join(p, q part, form Form) {
	s := Span{p.start, q.end, p.lo, q.hi, form}
	if p != q && p.hi != q.lo {
		// A stem was written between them, or a stop word stands there.
		lo := len(a.buf)
		a.buf = append(a.buf, a.buf[p.lo:p.hi]...)
		a.buf = append(a.buf, a.buf[q.lo:q.hi]...)
		s.lo, s.hi = uint32(lo), uint32(len(a.buf))
	}
	s.hi = s.lo + uint32(cutRunes(a.buf[s.lo:s.hi], MaxTerm))
	a.Joined = append(a.Joined, s)
}

// term emits the stem of p.
func (a *Analysis) term(p part) {
	w := a.buf[p.lo:p.hi]
	w = w[:cutRunes(w, MaxTerm)]
	n, add := stem(w)
	s := Span{Start: p.start, End: p.end, lo: p.lo, hi: p.lo + uint32(n)}
	if add != 0 {
		lo := len(a.buf)
		a.buf = append(append(a.buf, w[:n]...), add)
		s.lo, s.hi = uint32(lo), uint32(len(a.buf))
	}
	a.Terms = append(a.Terms, s)
}

// near reports whether two words belong to one phrase: between them stand only
// a few blanks or stop words, or one mark that joins names, as in fmt.Println.
func near(text string, end, start uint32) bool {
	if start < end || start-end > maxGap {
		return false
	}
	gap := text[end:start]
	if len(gap) == 1 {
		switch gap[0] {
		case '.', '/', ':', ' ', '-':
			return true
		}
	}
	blank := false
	for i := range len(gap) {
		switch c := gap[i]; {
		case c == ' ', c == '\t', c == '\n', c == '\r':
			blank = true
		case c < utf8.RuneSelf && (ascii[c] == lower || ascii[c] == upper): // a stop word
		default:
			return false
		}
	}
	return blank
}

// dense emits every character of a run of dense script and every two
// neighbours, so that a question of one character finds something.
func (a *Analysis) dense(text string, i int) int {
	a.prev = part{}
	var last part
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if k, _ := classify(r); k != dense {
			break
		}
		lo := uint32(len(a.buf))
		a.buf = append(a.buf, text[i:i+n]...)
		p := part{lo, uint32(len(a.buf)), uint32(i), uint32(i + n)}
		a.Terms = append(a.Terms, Span{Start: p.start, End: p.end, lo: p.lo, hi: p.hi})
		if last.hi != 0 {
			s := Span{last.start, p.end, last.lo, p.hi, Phrase}
			a.Terms = append(a.Terms, s)
			if a.Least <= Phrase {
				a.Joined = append(a.Joined, s)
			}
		}
		last, i = p, i+n
	}
	return i
}

// cutRunes returns how many bytes of w fit into limit without breaking a rune.
func cutRunes(w []byte, limit int) int {
	if len(w) <= limit {
		return len(w)
	}
	for limit > 0 && !utf8.RuneStart(w[limit]) {
		limit--
	}
	return limit
}
