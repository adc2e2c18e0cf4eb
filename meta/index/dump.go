package index

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Dump writes what the index says as sorted lines of JSON, without what depends
// on when or how it was built (numbers of changes, sizes and times of files): two
// indexes of the same files dump equal bytes.
func (x *DB) Dump(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	line := func(kind string, v any) error {
		return enc.Encode(struct {
			Kind string `json:"kind"`
			Row  any    `json:"row"`
		}{kind, v})
	}
	err := x.EachMemory(ctx, func(r Row) error {
		r.Seq, r.TextSeq = 0, 0
		return line("memory", r)
	})
	if err != nil {
		return err
	}
	err = x.db.Each(ctx, "dump", func(scan func(...any) error) error {
		_, chunks, err := scanChunks(scan)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if err := line("chunk", c); err != nil {
				return err
			}
		}
		return nil
	}, `select `+chunkColumns+` from chunks order by memory_id`)
	if err != nil {
		return err
	}
	err = x.db.Each(ctx, "dump", func(scan func(...any) error) error {
		l, err := scanLink(scan)
		if err != nil {
			return err
		}
		return line("link", l)
	}, `select `+linkColumns+` from memory_links order by from_id, id, derived`)
	if err != nil {
		return err
	}
	err = x.db.Each(ctx, "dump", func(scan func(...any) error) error {
		f, err := scanFile(scan)
		if err != nil {
			return err
		}
		return line("file", struct {
			Fold                      bool
			Path, Hash, State, Reason string
			MemoryID                  fold.ID
			Truncated                 bool
		}{f.Fold, f.Path, f.Hash, f.State, f.Reason, f.MemoryID, f.Truncated})
	}, `select `+fileColumns+` from files order by fold, path`)
	if err != nil {
		return err
	}
	return out.Flush()
}
