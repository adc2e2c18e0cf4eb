package syntax

// A Parser parses one file at a time. The zero Parser is ready. Close it.
type Parser struct {
	trees trees // differs by build
}

// Close frees what the parser holds in C. It may be used again.
func (p *Parser) Close() { p.trees.close() }

// maxParts is how many parts in other languages of one file are parsed.
const maxParts = 64

// Parse returns what is in src, or nil if there is no parser for the language or
// it made nothing of src, or ran out of time. Src must not change until the
// outline is closed.
func (p *Parser) Parse(lang string, src []byte, opt Options) (_ *Outline, timedOut bool) {
	// Where there is nothing else, go/parser also reads Go with errors.
	if lang == "go" && (Engine == textEngine || !opt.SlowGo) {
		if o := parseGo(src, opt.MaxLines, Engine != textEngine); o != nil {
			return o, false
		}
	}
	o, timedOut := p.trees.outline(lang, src, opt)
	for i := 0; o != nil && i < min(len(o.parts), maxParts); i++ {
		part := o.parts[i]
		sub, late := p.trees.outline(part.lang, src[part.start:part.end], opt)
		if late {
			o.Close()
			return nil, true
		}
		o.embed(i, sub)
	}
	return o, timedOut
}
