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

// SetVector sets what a cosine counts in all kinds of results.
func (w *Weights) SetVector(weight float64) {
	for _, row := range []*Row{&w.File, &w.Document, &w.Code, &w.Section, &w.Memory} {
		row[Vector] = weight
	}
}

// VectorWeight returns the most that a cosine counts in any kind of results.
func (w Weights) VectorWeight() float64 {
	return max(w.File[Vector], w.Document[Vector], w.Code[Vector], w.Section[Vector], w.Memory[Vector])
}

// DefaultWeights returns the committed table. Vectors count nothing: the
// built-in embedder adds nothing to tuned BM25 on any set (retrieval.md 1.6).
// What a model is worth is measured on the user's own checkout.
func DefaultWeights() Weights {
	w := fitted()
	// Not fitted: nothing on set d may be (its licence), and nothing else has
	// conversations. Figures of retrieval.md 2.
	w.Memory = Row{Window: 1, Exact: .1, Session: .3, Associated: .3}
	// Not fitted: the two repositories whose history the sets hold are too few.
	// Votes bring files among the first ten (recall@10 +0.024 on both together, at
	// nDCG@10 +0.004 [-0.011, 0.019]); at .35 they push better ones back, at .7
	// they cost 0.028.
	for _, row := range []*Row{&w.File, &w.Document} {
		row[Votes], row[Associated] = .2, .3
	}
	return w
}
