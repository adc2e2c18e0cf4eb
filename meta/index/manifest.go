package index

import (
	"context"
	"database/sql"
	"errors"
)

// A FileState is [File.State] in a byte, for lists of many files.
type FileState uint8

// The states of a file.
const (
	OtherState FileState = iota // stale, or one that this version does not know
	Indexed
	Skipped
	Failed
	Quarantined
)

// MustReread reports whether a file is to be read again whatever its stat says.
func (s FileState) MustReread() bool { return s == Failed || s == OtherState }

func stateOf(s string) FileState {
	switch s {
	case "indexed":
		return Indexed
	case "skipped":
		return Skipped
	case "failed":
		return Failed
	case "quarantined":
		return Quarantined
	}
	return OtherState
}

// A FileStat is the part of a [File] by which it is seen that a file changed.
type FileStat struct {
	Path    []byte // valid until the callback returns
	Size    int64
	MtimeNS int64
	Inode   uint64
	State   FileState
}

const statColumns = `path, size, mtime_ns, inode, state`

func scanStat(scan func(...any) error, f *FileStat) error {
	var path, state sql.RawBytes
	var inode int64
	if err := scan(&path, &f.Size, &f.MtimeNS, &inode, &state); err != nil {
		return err
	}
	f.Path, f.Inode, f.State = path, uint64(inode), stateOf(string(state))
	return nil
}

// FilesVersion is a number that changes whenever the manifest of fold/, or of the
// source files, may have changed. It begins anew with each opening.
func (x *DB) FilesVersion(inFold bool) int64 { return x.fileVersions[bit(inFold)].Load() }

// bumpVersions notes that rows changed, and whether rows of the manifests did.
func (x *DB) bumpVersions(source, inFold bool) {
	x.version.Add(1)
	if source {
		x.fileVersions[0].Add(1)
	}
	if inFold {
		x.fileVersions[1].Add(1)
	}
}

// SetChunkRules notes the rules by which source files are cut. Where the index was made
// by other rules, every source file is marked to be read again, and Recut reports
// that.
func (x *DB) SetChunkRules(ctx context.Context, rules string) (anew bool, err error) {
	err = x.db.Write(ctx, "recut", func(tx *sql.Tx) error {
		var was string
		err := tx.QueryRowContext(ctx, `select value from meta where key = 'cut'`).Scan(&was)
		if err == nil && was == rules {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		res, err := tx.ExecContext(ctx, `update files set state = 'stale' where fold = 0 and state = 'indexed'`)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		anew = n > 0
		_, err = tx.ExecContext(ctx, `insert into meta (key, value) values ('cut', ?) on conflict do update set value = excluded.value`, rules)
		return err
	})
	if anew {
		x.bumpVersions(true, false)
	}
	return anew, err
}

// EachFileStat calls fn with the manifest of fold/, or of the source files, in
// the order of their paths.
func (x *DB) EachFileStat(ctx context.Context, inFold bool, fn func(*FileStat)) error {
	var f FileStat
	return x.db.Each(ctx, "read files", func(scan func(...any) error) error {
		err := scanStat(scan, &f)
		if err == nil {
			fn(&f)
		}
		return err
	}, `select `+statColumns+` from files where fold = ? order by path`, bit(inFold))
}

// FileStats are rows of the manifest by path, sorted.
type FileStats struct {
	Paths []string
	Files []FileStat // without their paths
}

// FilesBelow returns the source files that the manifest has in the folder dir,
// or those in all of it for ".".
func (x *DB) FilesBelow(ctx context.Context, dir string) (FileStats, error) {
	var all FileStats
	from, to := dir+"/", dir+"0" // "0" is the byte after "/"
	if dir == "." {
		from, to = "", "\xff"
	}
	err := x.db.Each(ctx, "read files", func(scan func(...any) error) error {
		var f FileStat
		err := scanStat(scan, &f)
		all.Paths = append(all.Paths, string(f.Path))
		f.Path = nil
		all.Files = append(all.Files, f)
		return err
	}, `select `+statColumns+` from files where fold = 0 and path > ? and path < ? order by path`, from, to)
	return all, err
}
