// Package evolve proposes how the memories of a project could change: which belong
// together, which say the same.
//
// A maker looks at memories that changed and returns proposals ([state.Proposal]). It
// writes nothing: a proposal waits in the state database until somebody accepts or
// rejects it, or is accepted at once where the user wants that (evolve = "auto").
// What is accepted is written through the way in, package remember, and can be taken
// back. [Consolidation] is a maker that needs no model.
//
// A maker stays within one project, and names only memories that it was given. What
// a memory says is nothing that a maker does: text that asks for something proposes
// nothing. A maker that reads text by a model may link and annotate; only what is
// told by comparing all words of two memories may merge.
package evolve
