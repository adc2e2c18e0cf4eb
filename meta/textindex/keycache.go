package textindex

import "github.com/foldwatch/foldwatch/meta/fold"

// A keyCache holds the keys and memories of documents that were found lately. To read
// them from a segment means seven reads far from each other, for each of some hundred
// hits of a search. It is used by one search at a time.
type keyCache struct {
	slots []cachedKey // by hash; a document takes the place of another
}

// A cachedKey is of one document. It has the number of the segment, so that the cache
// keeps no segment in memory.
type cachedKey struct {
	segment uint64
	doc     uint32
	key     string
	memory  fold.ID
}

const keyCacheBits = 13 // of how many documents, half a megabyte of them

// of returns the key and the memory of a document.
func (n *keyCache) of(s *segment, doc uint32) (key string, memory fold.ID) {
	if n.slots == nil {
		n.slots = make([]cachedKey, 1<<keyCacheBits)
	}
	const golden = 0x9E3779B97F4A7C15 // 2^64 / golden ratio: neighbours lie apart (Knuth, TAOCP 6.4)
	e := &n.slots[(s.id<<32^uint64(doc))*golden>>(64-keyCacheBits)]
	if e.segment != s.id || e.doc != doc {
		key := s.key(doc)
		*e = cachedKey{s.id, doc, key, memoryOf(key, s.value(s.ownerOf(doc), ownerMemory))}
	}
	return e.key, e.memory
}

// memoryOf returns id, as part of key where that ends with it, as keys of memories do.
func memoryOf(key string, id []byte) fold.ID {
	if at := len(key) - len(id); at >= 0 && key[at:] == string(id) {
		return fold.ID(key[at:])
	}
	return fold.ID(id)
}
