// Package embed turns texts into unit vectors.
package embed

import (
	"context"
	"strconv"
)

// Kind says what a text is for; some models are told.
type Kind string

// The kinds of text.
const (
	Document Kind = "document" // stored
	Query    Kind = "query"    // asked
)

// An Identity names everything that the vectors of an embedder depend on.
// Vectors of different identities must never be compared.
type Identity struct {
	Provider  string // builtin, ollama, openai, gemini, voyage, local
	Model     string
	Revision  string // of the weights; "" if the provider does not say
	Dim       int
	Prompt    string // what is put before texts, by kind; "" if nothing
	Normalize string // l2: unit length is made by us or by the provider
}

// String returns the identity as one line: the key of caches and indexes.
func (id Identity) String() string {
	return id.Provider + "/" + id.Model + "@" + id.Revision + " dim=" + strconv.Itoa(id.Dim) +
		" prompt=" + strconv.Quote(id.Prompt) + " norm=" + id.Normalize
}

// An Embedder turns texts into vectors. Implementations are safe for concurrent
// use.
type Embedder interface {
	// Identity returns what the vectors depend on. It never changes.
	Identity() Identity

	// Embed returns one vector of unit length and Identity().Dim dimensions for
	// each text, in order. A text without any word gives nil: it has no
	// direction. On error nothing is returned.
	Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error)
}
