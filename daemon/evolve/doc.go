// Package evolve proposes changes to the memories of a project, such as which say the
// same and should be merged.
//
// A maker looks at memories that changed and returns proposals ([state.Proposal]). It
// writes nothing: a proposal waits in the state database until somebody accepts or
// rejects it, or is accepted at once if the user wants that (evolve = "auto"). An
// accepted one is written by package remember, and can be undone. [Consolidation] is a
// maker that needs no model.
//
// A maker stays within one project, and names only memories that it was given. The text
// of a memory is never an instruction: text that asks for something proposes nothing. A
// maker that reads text with a model may link and annotate; only one that compares all
// words of two memories may merge.
package evolve
