package rank

// Weights are how much each feature counts, by the kind of result. A relevance is
// the sum of values times weights, divided by the weights above 0.
type Weights struct {
	File     Row // memories of source files
	Document Row // memories of files of text for people
	Code     Row // chunks of source code
	Section  Row // chunks of text for people
	Memory   Row // all other memories
}

// Vectors is what a cosine counts, by what is found.
type Vectors struct {
	Whole float64 // files, documents and memories
	Part  float64 // chunks of code and sections of text
}

// SetVectors sets what a cosine counts.
func (w *Weights) SetVectors(v Vectors) {
	for _, row := range w.wholes() {
		row[Vector] = v.Whole
	}
	for _, row := range w.parts() {
		row[Vector] = v.Part
	}
}

// LimitVectors has a cosine count at most what it does in o.
func (w *Weights) LimitVectors(o Weights) {
	for i, row := range w.rows() {
		row[Vector] = min(row[Vector], o.rows()[i][Vector])
	}
}

// Vectors returns the most that a cosine counts in wholes and in parts.
func (w Weights) Vectors() Vectors {
	most := func(rows []*Row) (m float64) {
		for i, row := range rows {
			if i == 0 || row[Vector] > m {
				m = row[Vector]
			}
		}
		return m
	}
	return Vectors{Whole: most(w.wholes()), Part: most(w.parts())}
}

// Any reports whether a cosine counts at all.
func (v Vectors) Any() bool { return v.Whole > 0 || v.Part > 0 }

func (w *Weights) wholes() []*Row { return []*Row{&w.File, &w.Document, &w.Memory} }
func (w *Weights) parts() []*Row  { return []*Row{&w.Code, &w.Section} }
func (w *Weights) rows() []*Row   { return append(w.wholes(), w.parts()...) }

// DefaultWeights returns the committed table. Cosines of the built-in embedder count
// where they help to order chunks that words found; they find nothing alone, which
// would add nothing to tuned BM25 on any set (retrieval.md 1.6). What a model is
// worth is measured on the user's own checkout.
func DefaultWeights() Weights {
	w := fitted()
	// Not fitted: nothing on set d may be (its licence), and nothing else has
	// conversations. Figures of retrieval.md 2.
	w.Memory = Row{Window: 1, Exact: .1, Session: .3, Associated: .3}
	// Not fitted either: who is named, a time that is, and what is linked to the best
	// count as much as a phrase; what asks counts as much less, since it has the words
	// of the question and the answer follows it.
	w.Memory[Person], w.Memory[Time], w.Memory[Asks], w.Memory[Linked] = .1, .1, -.1, .1
	for _, row := range []*Row{&w.File, &w.Document} {
		row[Associated] = .3
		// No set asks for manuals by what was done to them.
		row[Votes], row[Messages] = w.File[Votes], w.File[Messages]
	}
	// Half of what the fit gives: what the cosines of the built-in embedder are worth
	// differs between repositories (set b: from -0.026 to +0.030 nDCG@10), and nobody
	// is to find less than by words.
	w.Code[Vector] /= 2
	return w
}
