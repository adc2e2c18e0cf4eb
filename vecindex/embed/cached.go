package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
)

// A Cache keeps vectors by identity and by the SHA-256 of the text in hex. What
// it forgets is embedded again. *meta.Cache is one.
type Cache interface {
	Vectors(ctx context.Context, identity string, hashes []string) (map[string][]float32, error)
	PutVectors(ctx context.Context, identity string, vectors map[string][]float32) error
}

// maxBatch is the most texts an embedder is given in one call.
const maxBatch = 256

// A CachedEmbedder asks a cache before it asks an embedder. It is safe for
// concurrent use if both are.
type CachedEmbedder struct {
	embedder Embedder
	cache    Cache

	hits, misses, calls atomic.Int64
}

// Cached returns e behind c. Texts that differ only in kind share a vector
// exactly if the identity has no prompt.
func Cached(e Embedder, c Cache) *CachedEmbedder { return &CachedEmbedder{embedder: e, cache: c} }

// Identity returns that of the embedder.
func (c *CachedEmbedder) Identity() Identity { return c.embedder.Identity() }

// Hits returns how many different texts of all calls were found in the cache.
func (c *CachedEmbedder) Hits() int64 { return c.hits.Load() }

// Misses returns how many different texts of all calls were embedded.
func (c *CachedEmbedder) Misses() int64 { return c.misses.Load() }

// Calls returns how often the embedder was asked, with up to 256 texts each.
func (c *CachedEmbedder) Calls() int64 { return c.calls.Load() }

// Embed returns the vectors of texts; equal texts are looked up and embedded
// once. What was embedded before an error is kept in the cache.
func (c *CachedEmbedder) Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	id := c.embedder.Identity()
	key := id.String()
	if id.Prompt != "" {
		key += " kind=" + string(kind)
	}
	hashes, text := make([]string, len(texts)), make(map[string]string, len(texts))
	var distinct []string
	for i, t := range texts {
		sum := sha256.Sum256([]byte(t))
		hashes[i] = hex.EncodeToString(sum[:])
		if _, ok := text[hashes[i]]; !ok {
			text[hashes[i]] = t
			distinct = append(distinct, hashes[i])
		}
	}
	known, err := c.cache.Vectors(ctx, key, distinct)
	if err != nil {
		return nil, fmt.Errorf("look up %d vectors: %w", len(distinct), err)
	}
	vecs := make(map[string][]float32, len(distinct))
	missing := make([]string, 0, len(distinct))
	for _, h := range distinct {
		// A vector of another length cannot be ours, whatever the cache says.
		if v, ok := known[h]; ok && len(v) == id.Dim {
			vecs[h] = v
		} else {
			missing = append(missing, h)
		}
	}
	c.hits.Add(int64(len(vecs)))
	for len(missing) > 0 {
		n := min(len(missing), maxBatch)
		if err := c.fill(ctx, key, id.Dim, missing[:n], text, kind, vecs); err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	out := make([][]float32, len(texts))
	for i, h := range hashes {
		out[i] = vecs[h]
	}
	return out, nil
}

// fill embeds one batch of texts, by hash, into vecs and the cache.
func (c *CachedEmbedder) fill(ctx context.Context, key string, dim int, hashes []string, text map[string]string, kind Kind, vecs map[string][]float32) error {
	batch := make([]string, len(hashes))
	for i, h := range hashes {
		batch[i] = text[h]
	}
	c.calls.Add(1)
	got, err := c.embedder.Embed(ctx, batch, kind)
	if err != nil {
		return fmt.Errorf("embed %d texts: %w", len(batch), err)
	}
	if len(got) != len(batch) {
		return fmt.Errorf("embed %d texts: got %d vectors", len(batch), len(got))
	}
	c.misses.Add(int64(len(batch)))
	fresh := make(map[string][]float32, len(batch))
	for i, v := range got {
		if v == nil {
			continue // no direction; nothing to keep
		}
		if len(v) != dim {
			return fmt.Errorf("embed %d texts: vector of %d dimensions, want %d", len(batch), len(v), dim)
		}
		fresh[hashes[i]], vecs[hashes[i]] = v, v
	}
	if err := c.cache.PutVectors(ctx, key, fresh); err != nil {
		return fmt.Errorf("keep %d vectors: %w", len(fresh), err)
	}
	return nil
}
