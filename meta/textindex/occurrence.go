package textindex

// An Occurrence says how often one form of a question occurs.
type Occurrence struct {
	Form   string // a term or joined form, as meta/words makes them
	Joined bool
	// Docs is how many documents have it, whatever the filter: an upper bound, in which
	// what was deleted lately may count, unless it is 0.
	Docs int
	// Passing reports whether one of them may pass the filter. Of a form that is very
	// common it is not looked up, and true.
	Passing bool
}

// maxExamined is how many postings of a form are looked at for one that passes.
const maxExamined = 1 << 12

// occurrences says how often each form that was looked up occurs: what find found is
// all it needs.
func (s *search) occurrences() []Occurrence {
	out := make([]Occurrence, 0, len(s.found.terms)+len(s.found.joined))
	for i := range s.found.terms {
		out = append(out, s.occurrence(&s.found.terms[i], s.terms[i], false))
	}
	for i := range s.found.joined {
		out = append(out, s.occurrence(&s.found.joined[i], s.joined[i], true))
	}
	return out
}

func (s *search) occurrence(t *termLists, form string, joined bool) Occurrence {
	o := Occurrence{Form: form, Joined: joined}
	for k := range kinds {
		for _, l := range t.lists[k] {
			o.Docs += l.list.count
		}
	}
	if o.Docs == 0 || s.present == nil && s.allowed == nil {
		o.Passing = o.Docs > 0
		return o
	}
	live, looked := false, 0
	for k := range kinds {
		for _, l := range t.lists[k] {
			first, p := l.leaf.offset+l.leaf.first[k], l.list.walk()
			for n := p.fill(&s.acc.batch); n > 0; n = p.fill(&s.acc.batch) {
				for _, doc := range s.acc.batch.docs[:n] {
					if d := first + doc; s.present.has(d) {
						if live = true; s.allowed.has(d) {
							o.Passing = true
							return o
						}
					}
				}
				if looked += n; looked > maxExamined {
					o.Passing = true
					return o
				}
			}
		}
	}
	if !live {
		o.Docs = 0
	}
	return o
}
