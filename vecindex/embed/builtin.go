package embed

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/meta/words"
)

// builtinDim is the dimension of [Builtin]'s vectors.
const builtinDim = 256

// How much a feature counts beside a term: a pair of neighbouring terms says
// more about the order than about the subject, and the n-grams of a term let
// related spellings meet (config, configure, reconfigure).
const (
	pairWeight = 0.5
	gramWeight = 0.35
	gramSize   = 4 // bytes; terms are mostly ASCII
)

// Builtin returns the embedder that is always there: signed feature hashing
// (Weinberger et al., ICML 2009) of the terms of [words.Analyze], of pairs of
// neighbouring terms and of the character n-grams of terms, with logarithmic
// term frequencies. It needs no model and gives the same vectors on every
// machine. It knows no synonyms: its channel counts little or nothing.
func Builtin() Embedder { return &builtin{} }

type builtin struct {
	scratch sync.Pool // of *hasher
}

func (*builtin) Identity() Identity {
	return Identity{Provider: "builtin", Model: "hash", Revision: words.Version + ".1", Dim: builtinDim, Normalize: "l2"}
}

func (b *builtin) Embed(ctx context.Context, texts []string, _ Kind) ([][]float32, error) {
	h, _ := b.scratch.Get().(*hasher)
	if h == nil {
		h = &hasher{}
	}
	defer b.scratch.Put(h)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = h.embed(text)
	}
	return out, nil
}

// hasher is what one call reuses.
type hasher struct {
	analysis            words.Analysis
	terms, pairs, grams []uint64 // hashes of features
}

func (h *hasher) embed(text string) []float32 {
	h.analysis.Reset(text)
	h.terms, h.pairs, h.grams = h.terms[:0], h.pairs[:0], h.grams[:0]
	prev := uint64(0)
	for _, t := range h.analysis.Terms {
		term := h.analysis.Bytes(t)
		sum := fnv(termSeed, term)
		h.terms = append(h.terms, sum)
		if prev != 0 {
			h.pairs = append(h.pairs, mix(prev*31+sum))
		}
		for i := 0; len(term) > gramSize && i+gramSize <= len(term); i++ {
			h.grams = append(h.grams, fnv(gramSeed, term[i:i+gramSize]))
		}
		prev = sum
	}
	var v [builtinDim]float64
	add(&v, h.terms, 1)
	add(&v, h.pairs, pairWeight)
	add(&v, h.grams, gramWeight)
	square := 0.0
	for _, f := range v {
		square += f * f
	}
	if square == 0 {
		return nil // no term, or features that cancel out
	}
	out, length := make([]float32, builtinDim), math.Sqrt(square)
	for i, f := range v {
		out[i] = float32(f / length)
	}
	return out
}

// add adds weight * (1 + ln tf) for every different feature. Features are
// sorted, so that sums are made in the same order everywhere.
func add(v *[builtinDim]float64, features []uint64, weight float64) {
	slices.Sort(features)
	for i := 0; i < len(features); {
		j := i + 1
		for j < len(features) && features[j] == features[i] {
			j++
		}
		w, sum := weight, mix(features[i])
		if j-i > 1 {
			w *= 1 + math.Log(float64(j-i))
		}
		if sum>>63 == 1 {
			w = -w
		}
		v[sum%builtinDim] += w
		i = j
	}
}

// Seeds keep terms and n-grams of the same letters apart.
const (
	termSeed = 14695981039346656037
	gramSeed = termSeed ^ 0x9E3779B97F4A7C15
)

// fnv is FNV-1a.
func fnv(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// mix spreads the bits of h (finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xFF51AFD7ED558CCD
	h = (h ^ h>>33) * 0xC4CEB9FE1A85EC53
	return h ^ h>>33
}
