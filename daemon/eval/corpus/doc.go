// Package corpus makes daemons to measure search with: it gets the sources that
// questions are asked of, puts them into scratch checkouts with memories and
// past commits, and asks a daemon of its own that has indexed them, through the
// function that the socket calls too.
//
//	sets, err := corpus.ReadSets(dir)
//	corpora, missing, err := sets.Prepare(ctx, cache, corpus.Choice{Sets: "ab", History: true})
//	s, err := corpus.Open(ctx, corpus.Options{}, corpora...)
//	defer s.Close()
//	for _, q := range sets.Queries("ab") {
//		names, err := s.Answer(ctx, q, nil)      // as a reader gets them, best first
//		found, err := s.Candidates(ctx, q, nil)  // before they are ranked
//		hit := found.Relevant(q)                 // by key of a candidate
//	}
//
// A corpus for sets a and b and one for set c are two checkouts of one source:
// what is blanked differs. Nothing of the sets is kept in this tree.
package corpus
