package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A SearchCursor says where a page of results begins, in the order that the search
// had at its time. Where nobody knows that order any more, strengths at least are as
// they were then.
type SearchCursor struct {
	Offset int       // results before the page
	At     time.Time // of the first page, in milliseconds
	Of     uint32    // which search: [SearchRequest.Sum]
}

// String returns the cursor as text. It is opaque to callers.
func (c SearchCursor) String() string {
	return fmt.Sprintf("%d-%x-%08x", c.Offset, c.At.UnixMilli(), c.Of)
}

// Plus returns the cursor n results on.
func (c SearchCursor) Plus(n int) SearchCursor {
	c.Offset += n
	return c
}

// ParseSearchCursor reads what String returned. It returns ErrInvalid for
// anything else.
func ParseSearchCursor(s string) (SearchCursor, error) {
	parts := strings.Split(s, "-")
	if len(parts) == 3 {
		offset, err1 := strconv.ParseUint(parts[0], 10, 31)
		at, err2 := strconv.ParseInt(parts[1], 16, 64)
		of, err3 := strconv.ParseUint(parts[2], 16, 32)
		if err1 == nil && err2 == nil && err3 == nil && at >= 0 && at < 1<<48 {
			return SearchCursor{int(offset), time.UnixMilli(at).UTC(), uint32(of)}, nil
		}
	}
	return SearchCursor{}, fmt.Errorf("cursor %.40q: give the next_cursor of the page before: %w", s, fold.ErrInvalid)
}

// Sum is the beginning of the digest: it tells a caller who mixes up two searches, and
// holds against nobody who means to.
func (r *SearchRequest) Sum(projects ...string) uint32 {
	d := r.Digest(projects...)
	return binary.BigEndian.Uint32(d[:])
}

// Digest tells one search of projects from any other: by all that decides what is
// found and in which order.
func (r *SearchRequest) Digest(projects ...string) (d [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q %q %q %q %v %v %q", r.Query, r.Source, r.Type, r.Tags, r.Author, r.FilePattern, r.Language, r.After, r.Before, r.MinScore, r.ChunksFirst, projects)
	h.Sum(d[:0])
	return d
}
