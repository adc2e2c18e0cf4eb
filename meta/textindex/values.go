package textindex

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Field is what memories are filtered by.
type Field int

// The fields. Those of a path are its first folder, with a slash behind it, or the
// name of a file that lies in none.
const (
	BySource Field = iota
	ByType
	ByAuthor
	ByLanguage
	ByPath
	ByTag
)

// Values returns the values that memories have in a field, the commonest first, ties
// in order. Authors, languages and tags are in small letters. It reads all of the
// index: it is for who asked for a value that there is not.
func (x *Index) Values(ctx context.Context, field Field) (_ []string, err error) {
	defer wrap(&err, "values of memories")
	count := map[string]int{}
	err = x.eachOwner(ctx, func(l *leaf, o uint32, _ map[string]uint64) {
		switch field {
		case ByTag:
			for tag := range bytes.SplitSeq(l.value(o, ownerTags), []byte{0}) {
				count[string(tag)]++
			}
		case ByPath:
			p := string(l.value(o, ownerPath))
			if dir, _, ok := strings.Cut(p, "/"); ok {
				p = dir + "/"
			}
			count[p]++
		default:
			which := [...]int{BySource: ownerSource, ByType: ownerType, ByAuthor: ownerAuthor, ByLanguage: ownerLanguage}[field]
			count[string(l.value(o, which))]++
		}
	})
	delete(count, "")
	out := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	return out, err
}

// Span returns when the first and the last memory were updated; zero times if there is
// none.
func (x *Index) Span(ctx context.Context) (first, last time.Time, err error) {
	defer wrap(&err, "times of memories")
	err = x.eachOwner(ctx, func(l *leaf, o uint32, dated map[string]uint64) {
		t := time.Unix(0, int64(l.timeOf(o, dated)^1<<63)).UTC() // see nanos
		if first.IsZero() || t.Before(first) {
			first = t
		}
		if last.IsZero() || t.After(last) {
			last = t
		}
	})
	return first, last, err
}

// eachOwner calls fn for every memory. Dated is for [leaf.timeOf].
func (x *Index) eachOwner(ctx context.Context, fn func(l *leaf, o uint32, dated map[string]uint64)) (err error) {
	s, err := x.snapshot()
	if err != nil {
		return err
	}
	defer closeReader(s, &err)
	dated := s.datedByChunks()
	for i := range s.leaves {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &s.leaves[i]
		for o, own := range l.memoryOwners() {
			if own {
				fn(l, uint32(o), dated)
			}
		}
	}
	return nil
}
