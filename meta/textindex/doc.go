// Package textindex finds memories, files and chunks by words.
//
// Bleve's scorch keeps the postings: dictionaries, frequencies, field lengths,
// snapshots, merging. The terms come from meta/words, for documents and for
// questions alike, so that no Bleve analyser and no mapping is involved.
//
// The score is ours, computed from Bleve's postings: BM25F with weights, k1 and
// b per kind of document. Bleve's own has one k1 and b per process, takes the
// square root of term frequencies, and divides by the number of distinct terms
// where BM25 wants the average length; each of the three costs rank.
//
// Every kind has fields of its own, so that a term that is common in chunks may
// be rare in memories.
package textindex
