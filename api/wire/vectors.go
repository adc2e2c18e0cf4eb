package wire

// VectorSearch tells what answers searches among vectors, how well, and why.
type VectorSearch struct {
	Engine  string  `json:"engine" doc:"exact, sketch, hnsw or coder-hnsw"`
	Forced  bool    `json:"forced" doc:"vector_index says so, whatever was measured"`
	Recall  float64 `json:"recall_at_10" doc:"of the ten nearest of the exact scan; 0 until it is measured"`
	P50MS   float64 `json:"p50_ms" doc:"median of a search, without the rest of the request; 0 until it is measured"`
	ExactMS float64 `json:"exact_p50_ms" doc:"of the exact scan of the same queries"`
	Why     string  `json:"why" doc:"why this one serves"`
}
