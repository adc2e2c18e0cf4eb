// Package textindex finds memories, files and chunks by words.
//
// Bleve's scorch keeps the index: which segments there are, what is deleted in
// each, snapshots for readers, persisting, merging, what a crash leaves. What a
// segment holds is ours, given to scorch as a segment plugin: documents with
// what they are filtered by, dictionaries and postings. The terms come from
// meta/words, for documents and for questions alike, so that no Bleve analyser
// and no mapping is involved.
//
// Bleve's own segments cost a first index six times the processor and three
// times the disk: one map of a document's terms for each field, one dictionary
// for each field, doc values and postings for what every chunk has in common
// with its file. Here a term has one posting in a document, which says how often
// it stands in each field; joined forms are hashes; what is filtered by stands
// once for all chunks of a file; a merge copies postings without reading them.
//
// The score is ours as well: BM25F with weights, k1 and b per kind of document.
// Bleve's own has one k1 and b per process, takes the square root of term
// frequencies, and divides by the number of distinct terms where BM25 wants the
// average length; each of the three costs rank.
//
// format.md says what the bytes of a segment are.
//
// Every kind has dictionaries of its own, so that a term that is common in
// chunks may be rare in memories.
package textindex
