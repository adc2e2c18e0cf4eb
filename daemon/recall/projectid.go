package recall

import (
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The same text has the same id in every project, and its chunks the same keys. Where
// several projects are ranked together, ids and keys begin with the number of the
// checkout: 3/1f2e3d4c5b6a7988, m:3/1f2e3d4c5b6a7988.

func projectID(checkout int, id fold.ID) fold.ID { return fold.ID(strconv.Itoa(checkout)) + "/" + id }

func projectKey(checkout int, key string) string {
	return key[:2] + strconv.Itoa(checkout) + "/" + key[2:]
}

// splitProjectID returns the number of the checkout and the id. An id without a number
// is from the only checkout.
func splitProjectID(id fold.ID) (int, fold.ID) {
	n, rest, tagged := strings.Cut(string(id), "/")
	if !tagged {
		return 0, id
	}
	checkout, _ := strconv.Atoi(n) // our own: always a number
	return checkout, fold.ID(rest)
}

// withProject puts the number of the checkout into the ids and keys of its candidates.
func withProject(checkout int, c rank.Candidates) rank.Candidates {
	for _, hits := range [][]rank.Hit{c.Files, c.Memories, c.Chunks} {
		for i := range hits {
			hits[i].Key, hits[i].Memory = projectKey(checkout, hits[i].Key), projectID(checkout, hits[i].Memory)
		}
	}
	for i := range c.Vectors {
		c.Vectors[i].Key, c.Vectors[i].Memory = projectKey(checkout, c.Vectors[i].Key), projectID(checkout, c.Vectors[i].Memory)
	}
	places := make(map[string]rank.Place, len(c.Places))
	for key, p := range c.Places {
		p.Group = string(projectID(checkout, fold.ID(p.Group)))
		places[projectKey(checkout, key)] = p
	}
	c.Places, c.Hints = places, withProjectIDs(checkout, c.Hints)
	c.Strength, c.Votes, c.Messages = withProjectIDs(checkout, c.Strength), withProjectIDs(checkout, c.Votes), withProjectIDs(checkout, c.Messages)
	return c
}

func withProjectIDs[T any](checkout int, of map[fold.ID]T) map[fold.ID]T {
	out := make(map[fold.ID]T, len(of))
	for id, v := range of {
		out[projectID(checkout, id)] = v
	}
	return out
}

// withoutProject returns the number of the checkout of r, and r under its own id and keys.
func withoutProject(r rank.Ranked) (int, rank.Ranked) {
	checkout, id := splitProjectID(r.ID)
	r.ID = id
	chunks := make([]rank.RankedChunk, len(r.Chunks))
	for i, c := range r.Chunks {
		_, key := splitProjectID(fold.ID(c.Key[2:]))
		c.Key, c.Memory = c.Key[:2]+string(key), id
		chunks[i] = c
	}
	r.Chunks = chunks
	return checkout, r
}
