package cache

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// pendingChunks and pendingBytes are how many chunk lists wait to be written
	// together: a transaction for each was half of what the cache cost.
	pendingChunks = 512
	pendingBytes  = 1 << 20
	// pendingVectors is how many vectors wait likewise, and pendingTime for how
	// long: a crash may cost what was paid for within that time.
	pendingVectors = 512
	pendingTime    = 2 * time.Second
)

// vectorsByIdentity holds vectors by the embedder's identity and the text's hash.
type vectorsByIdentity map[string]map[string][]float32

// A batch is what is written by one flush.
type batch struct {
	chunks  map[string][]byte
	vectors vectorsByIdentity
}

// pending holds what waits to be written, and what a flush writes just now: reads
// find both. Safe for concurrent use.
type pending struct {
	mu      sync.Mutex // guards the fields below; not held across I/O
	waiting batch
	writing batch
	bytes   int       // of the chunks that wait
	vectors int       // how many wait
	since   time.Time // when the first vector came
}

// addChunks has value wait under key, and reports whether it is time to flush.
func (p *pending) addChunks(key string, value []byte) (full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting.chunks == nil {
		p.waiting.chunks = make(map[string][]byte)
	}
	p.waiting.chunks[key] = value
	p.bytes += len(value)
	return len(p.waiting.chunks) >= pendingChunks || p.bytes >= pendingBytes
}

// addVectors is addChunks for vectors.
func (p *pending) addVectors(identity string, vectors map[string][]float32, now time.Time) (full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vectors == 0 {
		p.since = now
	}
	if p.waiting.vectors == nil {
		p.waiting.vectors = vectorsByIdentity{}
	}
	if p.waiting.vectors[identity] == nil {
		p.waiting.vectors[identity] = make(map[string][]float32, len(vectors))
	}
	maps.Copy(p.waiting.vectors[identity], vectors)
	p.vectors += len(vectors)
	return p.vectors >= pendingVectors || now.Sub(p.since) >= pendingTime
}

// begin returns what waits, to be written; one flush goes on at a time.
func (p *pending) begin() batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing, p.waiting, p.bytes, p.vectors = p.waiting, batch{}, 0, 0
	return p.writing
}

// end follows begin, once all is written.
func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = batch{}
}

// chunks adds to all what is pending under keys, and returns the other keys.
func (p *pending) chunks(all map[string][]byte, keys []string) (rest []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pick(all, keys, p.waiting.chunks, p.writing.chunks, func(value []byte) []byte { return value })
}

// vectorsOf adds to all what is pending of an embedder, and returns the other
// hashes. The vectors are the caller's.
func (p *pending) vectorsOf(all map[string][]float32, identity string, hashes []string) (rest []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pick(all, hashes, p.waiting.vectors[identity], p.writing.vectors[identity], slices.Clone[[]float32])
}

// pick adds to all, through copied, what first or else second has under keys, and
// returns the other keys.
func pick[V any](all map[string]V, keys []string, first, second map[string]V, copied func(V) V) (rest []string) {
	if len(first)+len(second) == 0 {
		return keys
	}
	for _, key := range keys {
		value, ok := first[key]
		if !ok {
			value, ok = second[key]
		}
		if ok {
			all[key] = copied(value)
		} else {
			rest = append(rest, key)
		}
	}
	return rest
}
