package rank

// Weights are how much each term counts in a sum. Every term is in [0, 1], so
// a relevance is the sum divided by the sum of the weights. Weights are
// measured on dev sets a to c (retrieval.md 4). Those of memories' neighbours and
// associations are not measured yet: nothing puts these in a search so far.
type Weights struct {
	Chunk  ChunkWeights
	Memory MemoryWeights
}

// ChunkWeights are those of single chunks.
type ChunkWeights struct {
	Fielded   float64 // BM25F of the chunk
	Exact     float64 // whole identifiers and word pairs
	Name      float64 // BM25F of symbol and heading alone
	Coverage  float64 // share of the question's terms that occur, in prose
	Parent    float64 // BM25F of its file or memory
	Neighbour float64 // mean of the chunks before and after
	Vector    float64 // cosine
}

// MemoryWeights are those of memories: of files, and of what was written.
type MemoryWeights struct {
	Document   float64 // BM25F of the whole
	Chunks     float64 // its three best chunks, see [TopSum]
	Exact      float64
	Coverage   float64
	Votes      float64 // past commits that look like the question and touched it
	Neighbour  float64 // mean of those before and after it in the same session
	Vector     float64 // cosine of the memory or of its nearest chunk
	Associated float64 // associations (Conch)
}

// DefaultWeights returns the committed table. Vectors count nothing: the
// built-in embedder adds nothing to tuned BM25 on any set (retrieval.md 1.6).
// What a model is worth is measured on the user's own checkout.
func DefaultWeights() Weights {
	return Weights{
		Chunk:  ChunkWeights{Fielded: 1, Exact: .2, Name: .2, Coverage: .4, Parent: .3, Neighbour: .1},
		Memory: MemoryWeights{Document: .7, Chunks: 1, Exact: .3, Votes: .7, Neighbour: .3, Associated: .3},
	}
}
