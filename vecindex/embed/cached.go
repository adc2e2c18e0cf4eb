package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
)

// A Cache keeps vectors by identity and by the SHA-256 of the text in hex. What
// it forgets is embedded again. *cache.DB is one.
type Cache interface {
	Vectors(ctx context.Context, identity string, hashes []string) (map[string][]float32, error)
	PutVectors(ctx context.Context, identity string, vectors map[string][]float32) error
}

// maxBatch is the most texts an embedder is given in one call.
const maxBatch = 256

// A CachedEmbedder asks a cache before it asks an embedder. It is safe for
// concurrent use if both are.
type CachedEmbedder struct {
	embedder    Embedder
	cache       Cache
	skipQueries bool // to embed a question takes less than to look it up, and to keep it

	hits, misses, calls atomic.Int64

	mu       sync.Mutex
	inFlight map[string]chan struct{} // texts that a call is embedding, by cache key and hash; closed when it is done
	filled   uint64                   // batches that were embedded
}

// Cached returns e behind c. Texts that differ only in kind share a vector
// exactly if the identity has no prompt. Questions to a [Static], which takes some
// microseconds for one, pass by the cache.
func Cached(e Embedder, c Cache) *CachedEmbedder {
	_, quick := e.(*Static)
	return &CachedEmbedder{embedder: e, cache: c, skipQueries: quick, inFlight: map[string]chan struct{}{}}
}

// Identity returns that of the embedder.
func (c *CachedEmbedder) Identity() Identity { return c.embedder.Identity() }

// Hits returns how many different texts of all calls were found in the cache.
func (c *CachedEmbedder) Hits() int64 { return c.hits.Load() }

// Misses returns how many different texts of all calls were embedded.
func (c *CachedEmbedder) Misses() int64 { return c.misses.Load() }

// Calls returns how often the embedder was asked, with up to 256 texts each.
func (c *CachedEmbedder) Calls() int64 { return c.calls.Load() }

// Embed returns the vectors of texts; equal texts are looked up and embedded
// once, and a text that another call is embedding is waited for. What was
// embedded before an error is kept in the cache.
func (c *CachedEmbedder) Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if c.skipQueries && kind == Query {
		return c.embedder.Embed(ctx, texts, kind)
	}
	var err error
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
	vecs := make(map[string][]float32, len(distinct))
	for missing := distinct; ; {
		filled := c.batches()
		if missing, err = c.lookUp(ctx, key, id.Dim, missing, vecs); err != nil {
			return nil, err
		}
		if missing, err = c.embed(ctx, key, id.Dim, missing, text, kind, vecs, filled); err != nil {
			return nil, err
		}
		if len(missing) == 0 {
			break
		}
	}
	out := make([][]float32, len(texts))
	for i, h := range hashes {
		out[i] = vecs[h]
	}
	return out, nil
}

// lookUp puts the vectors that the cache has into vecs and returns the hashes of
// the others.
func (c *CachedEmbedder) lookUp(ctx context.Context, key string, dim int, hashes []string, vecs map[string][]float32) (missing []string, err error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	known, err := c.cache.Vectors(ctx, key, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up %d vectors: %w", len(hashes), err)
	}
	for _, h := range hashes {
		// A vector of another length cannot be ours, whatever the cache says.
		if v, ok := known[h]; ok && len(v) == dim {
			vecs[h] = v
			c.hits.Add(1)
		} else {
			missing = append(missing, h)
		}
	}
	return missing, nil
}

// embed embeds those of the texts that no other call is embedding, waits for the
// other calls, and returns what is to be looked up again. Filled is what batches
// returned before the cache was asked.
func (c *CachedEmbedder) embed(ctx context.Context, key string, dim int, hashes []string, text map[string]string, kind Kind, vecs map[string][]float32, filled uint64) (again []string, err error) {
	for len(hashes) > 0 {
		n := min(len(hashes), maxBatch)
		mine, others, done := c.claim(key, hashes[:n])
		if hashes = hashes[n:]; c.batches() != filled {
			// Another call has filled the cache since: a text may be there that
			// nobody claims any more.
			if mine, err = c.lookUp(ctx, key, dim, mine, vecs); err != nil {
				done()
				return nil, err
			}
		}
		if len(mine) > 0 {
			err = c.fill(ctx, key, dim, mine, text, kind, vecs)
			filled++
		}
		done()
		if err != nil {
			return nil, err
		}
		for h, flight := range others {
			select {
			case <-flight:
				again = append(again, h)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return again, nil
}

// claim marks the texts that no call is embedding. Done unmarks them.
func (c *CachedEmbedder) claim(key string, hashes []string) (mine []string, others map[string]chan struct{}, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	flight := make(chan struct{})
	for _, h := range hashes {
		if other, ok := c.inFlight[key+h]; ok {
			if others == nil {
				others = map[string]chan struct{}{}
			}
			others[h] = other
			continue
		}
		c.inFlight[key+h] = flight
		mine = append(mine, h)
	}
	claimed := mine
	return mine, others, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, h := range claimed {
			delete(c.inFlight, key+h)
		}
		close(flight)
	}
}

// batches returns how many batches were embedded.
func (c *CachedEmbedder) batches() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.filled
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
	c.mu.Lock()
	c.filled++
	c.mu.Unlock()
	return nil
}
