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

func projectID(door int, id fold.ID) fold.ID { return fold.ID(strconv.Itoa(door)) + "/" + id }

func projectKey(door int, key string) string {
	return key[:2] + strconv.Itoa(door) + "/" + key[2:]
}

// splitProjectID returns the door and the id of a tagged id. What has no tag is of the one
// door that was asked.
func splitProjectID(id fold.ID) (int, fold.ID) {
	n, rest, tagged := strings.Cut(string(id), "/")
	if !tagged {
		return 0, id
	}
	door, _ := strconv.Atoi(n) // our own: always a number
	return door, fold.ID(rest)
}

// withProject is what the door of that number found, under tagged ids and keys.
func withProject(door int, c rank.Candidates) rank.Candidates {
	for _, hits := range [][]rank.Hit{c.Files, c.Memories, c.Chunks} {
		for i := range hits {
			hits[i].Key, hits[i].Memory = projectKey(door, hits[i].Key), projectID(door, hits[i].Memory)
		}
	}
	for i := range c.Vectors {
		c.Vectors[i].Key, c.Vectors[i].Memory = projectKey(door, c.Vectors[i].Key), projectID(door, c.Vectors[i].Memory)
	}
	places := make(map[string]rank.Place, len(c.Places))
	for key, p := range c.Places {
		p.Group = string(projectID(door, fold.ID(p.Group)))
		places[projectKey(door, key)] = p
	}
	c.Places, c.Cues = places, withProjectIDs(door, c.Cues)
	c.Strength, c.Votes, c.Messages = withProjectIDs(door, c.Strength), withProjectIDs(door, c.Votes), withProjectIDs(door, c.Messages)
	return c
}

func withProjectIDs[T any](door int, of map[fold.ID]T) map[fold.ID]T {
	out := make(map[fold.ID]T, len(of))
	for id, v := range of {
		out[projectID(door, id)] = v
	}
	return out
}

// withoutProject returns the door of r, and r under its own id and keys.
func withoutProject(r rank.Ranked) (int, rank.Ranked) {
	door, id := splitProjectID(r.ID)
	r.ID = id
	chunks := make([]rank.RankedChunk, len(r.Chunks))
	for i, c := range r.Chunks {
		_, key := splitProjectID(fold.ID(c.Key[2:]))
		c.Key, c.Memory = c.Key[:2]+string(key), id
		chunks[i] = c
	}
	r.Chunks = chunks
	return door, r
}
