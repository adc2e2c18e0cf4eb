// Package eval says how well a search finds: questions with the places that
// answer them, the rankings a search gave, and the figures that compare both.
//
// Questions are mined from source and commits too, where nobody labelled any.
//
// It knows nothing of how rankings are made. Package corpus, below it, makes
// them through the daemon's own search.
package eval
