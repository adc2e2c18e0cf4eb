package recall

import (
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The same text is the same id in every project, and a chunk of it the same
// key. Where projects are ranked together, ids and keys say which door they
// came from: 3/1f2e3d4c5b6a7988, m:3/1f2e3d4c5b6a7988.

func tag(door int, id fold.ID) fold.ID { return fold.ID(strconv.Itoa(door)) + "/" + id }

func tagKey(door int, key string) string {
	return key[:2] + strconv.Itoa(door) + "/" + key[2:]
}

// untag returns the door and the id of a tagged id. What has no tag is of the one
// door that was asked.
func untag(id fold.ID) (int, fold.ID) {
	n, rest, tagged := strings.Cut(string(id), "/")
	if !tagged {
		return 0, id
	}
	door, _ := strconv.Atoi(n) // our own: always a number
	return door, fold.ID(rest)
}

// tagged is what the door of that number found, under tagged ids and keys.
func tagged(door int, c rank.Candidates) rank.Candidates {
	for _, hits := range [][]rank.Hit{c.Files, c.Memories, c.Chunks} {
		for i := range hits {
			hits[i].Key, hits[i].Memory = tagKey(door, hits[i].Key), tag(door, hits[i].Memory)
		}
	}
	for i := range c.Vectors {
		c.Vectors[i].Key, c.Vectors[i].Memory = tagKey(door, c.Vectors[i].Key), tag(door, c.Vectors[i].Memory)
	}
	places := make(map[string]rank.Place, len(c.Places))
	for key, p := range c.Places {
		p.Group = string(tag(door, fold.ID(p.Group)))
		places[tagKey(door, key)] = p
	}
	c.Places, c.Cues = places, tagAll(door, c.Cues)
	c.Strength, c.Votes, c.Messages = tagAll(door, c.Strength), tagAll(door, c.Votes), tagAll(door, c.Messages)
	return c
}

func tagAll[T any](door int, of map[fold.ID]T) map[fold.ID]T {
	out := make(map[fold.ID]T, len(of))
	for id, v := range of {
		out[tag(door, id)] = v
	}
	return out
}

// untagged returns the door of r, and r under its own id and keys.
func untagged(r rank.Ranked) (int, rank.Ranked) {
	door, id := untag(r.ID)
	r.ID = id
	chunks := make([]rank.RankedChunk, len(r.Chunks))
	for i, c := range r.Chunks {
		_, key := untag(fold.ID(c.Key[2:]))
		c.Key, c.Memory = c.Key[:2]+string(key), id
		chunks[i] = c
	}
	r.Chunks = chunks
	return door, r
}
