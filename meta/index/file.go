package index

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A File is one path of the manifest.
type File struct {
	Path      string // below fold/ if Fold, else relative to the checkout
	Fold      bool
	Size      int64
	MtimeNS   int64
	Inode     uint64
	Hash      string // SHA-256 of the bytes, hex
	Blob      string // git blob id
	MemoryID  fold.ID
	State     string // indexed, skipped, failed or quarantined
	Reason    string
	Truncated bool
	Seq       int64 // of the change that put it; set by Apply
}

const fileColumns = `fold, path, size, mtime_ns, inode, hash, blob, memory_id, state, reason, truncated, seq`

const fileColumnCount = 12

func (f *File) values(seq int64) []any {
	return []any{
		bit(f.Fold), f.Path, f.Size, f.MtimeNS, int64(f.Inode), f.Hash, f.Blob, string(f.MemoryID), f.State, f.Reason,
		bit(f.Truncated), seq,
	}
}

func scanFile(scan func(...any) error) (File, error) {
	var f File
	var inode int64
	err := scan(&f.Fold, &f.Path, &f.Size, &f.MtimeNS, &inode, &f.Hash, &f.Blob, &f.MemoryID, &f.State, &f.Reason,
		&f.Truncated, &f.Seq)
	f.Inode = uint64(inode)
	return f, err
}

// Files returns the manifest of fold/, or of the source files, by path.
func (x *DB) Files(ctx context.Context, inFold bool) (map[string]File, error) {
	all := make(map[string]File)
	err := x.db.Each(ctx, "read files", func(scan func(...any) error) error {
		f, err := scanFile(scan)
		all[f.Path] = f
		return err
	}, `select `+fileColumns+` from files where fold = ?`, bit(inFold))
	return all, err
}

// FilesByPath returns the rows of the manifest that paths have there.
func (x *DB) FilesByPath(ctx context.Context, paths []string, inFold bool) (map[string]File, error) {
	some := make(map[string]File, len(paths))
	if len(paths) == 0 {
		return some, nil
	}
	err := x.db.Each(ctx, "read files", func(scan func(...any) error) error {
		f, err := scanFile(scan)
		some[f.Path] = f
		return err
	}, `select `+fileColumns+` from files where fold = ? and path in (select value from json_each(?))`, bit(inFold), sqlite.List(paths))
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		if utf8.ValidString(p) {
			continue
		}
		f, err := x.FileByPath(ctx, p, inFold) // JSON cannot say such a path
		if errors.Is(err, fold.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		some[p] = f
	}
	return some, nil
}

// FileByPath returns one row of the manifest. It returns fold.ErrNotFound if
// there is none.
func (x *DB) FileByPath(ctx context.Context, path string, inFold bool) (File, error) {
	f, err := scanFile(x.db.Row(ctx, fmt.Sprintf("file %.200q", path), `select `+fileColumns+` from files where fold = ? and path = ?`,
		bit(inFold), path).Scan)
	return f, err
}

// AnyBelow reports whether the manifest has a source file in the folder dir.
func (x *DB) AnyBelow(ctx context.Context, dir string) (bool, error) {
	var found bool
	// "0" is the byte after "/".
	err := x.db.Row(ctx, fmt.Sprintf("files below %.200q", dir), `select exists (select 1 from files where fold = 0 and path > ? and path < ?)`,
		dir+"/", dir+"0").Scan(&found)
	return found, err
}
