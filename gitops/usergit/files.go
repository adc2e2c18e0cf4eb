package usergit

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Files returns the paths of the work tree that are tracked, or untracked and
// not ignored: relative to its root, forward slashes, sorted, each once.
// Submodules and nested repositories are left out. A tracked path need not
// exist on disk, and may be a symlink.
func (l *Repo) Files(ctx context.Context) ([]string, error) {
	if l.WorkTree == "" {
		return nil, nil
	}
	paths, nested, err := l.tracked(ctx)
	if err != nil {
		return nil, err
	}
	others, err := l.untracked(ctx)
	if err != nil {
		return nil, err
	}
	paths = append(paths, others...)
	if len(nested) > 0 { // a file where the index has a submodule
		paths = slices.DeleteFunc(paths, func(p string) bool { return nested[p] })
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// tracked returns the paths of the index, sorted, each once, and apart those of
// submodules. It starts git only where the index is one that only git reads.
func (l *Repo) tracked(ctx context.Context) (paths []string, nested map[string]bool, err error) {
	if paths, nested, err = l.trackedFast(); !errors.Is(err, errOddIndex) {
		return paths, nested, err
	}
	paths, nested = nil, map[string]bool{}
	err = l.Git("ls-files", "-z", "--cached", "--stage").stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(s string) error {
			e, ok := parseStage(s)
			switch {
			case !ok:
				return fmt.Errorf("unexpected line %.80q", s)
			case e.mode == ModeGitlink:
				nested[e.path] = true
			default:
				paths = append(paths, e.path)
			}
			return nil
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list tracked files: %w", err)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nested, nil
}

// untracked returns the paths that are neither tracked nor ignored, unsorted.
func (l *Repo) untracked(ctx context.Context) (paths []string, err error) {
	err = l.Git("ls-files", "-z", "--others", "--exclude-standard").stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(s string) error {
			if !strings.HasSuffix(s, "/") { // a nested repository
				paths = append(paths, s)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list untracked files: %w", err)
	}
	return paths, nil
}

// Git's file modes, as raw listings print them.
const (
	ModeRegular    = "100644"
	modeExecutable = "100755"
	ModeGitlink    = "160000"
)

func regularMode(mode string) bool { return mode == ModeRegular || mode == modeExecutable }

// A stageLine is one entry of the index as ls-files prints it.
type stageLine struct{ mode, oid, stage, path string }

// parseStage reads "mode oid stage\tpath".
func parseStage(s string) (stageLine, bool) {
	head, path, ok := strings.Cut(s, "\t")
	f := strings.Fields(head)
	if !ok || len(f) != 3 {
		return stageLine{}, false
	}
	return stageLine{f[0], f[1], f[2], path}, true
}

// Ignored returns which of paths (relative to the work tree, forward slashes,
// folders with or without a final slash) git ignores. Tracked paths never are.
// A path that git cannot judge, such as one beyond a symlink or in a
// submodule, is reported as ignored: nothing of it belongs to this checkout.
func (l *Repo) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	out := map[string]bool{}
	if l.WorkTree == "" {
		return out, nil
	}
	ok := make([]string, 0, len(paths))
	for _, p := range paths {
		clean := strings.TrimSuffix(p, "/")
		if filepath.IsLocal(filepath.FromSlash(clean)) && clean != "." && !strings.ContainsRune(p, 0) {
			ok = append(ok, p)
		} else {
			out[p] = true
		}
	}
	return out, l.checkIgnore(ctx, ok, out)
}

func (l *Repo) checkIgnore(ctx context.Context, paths []string, out map[string]bool) error {
	if len(paths) == 0 {
		return nil
	}
	c := l.Git("check-ignore", "-z", "--stdin")
	c.stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	err := c.stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(s string) error {
			out[s] = true
			return nil
		})
	})
	switch code := ExitCode(err); {
	case err == nil, code == 1: // 1: none is ignored
		return nil
	case code == 128 && unjudged(err): // one bad path ends the whole run: find it by halves
		if len(paths) == 1 {
			out[paths[0]] = true
			return nil
		}
		half := len(paths) / 2
		return errors.Join(l.checkIgnore(ctx, paths[:half], out), l.checkIgnore(ctx, paths[half:], out))
	}
	return fmt.Errorf("ask what is ignored: %w", err)
}

// unjudged reports whether check-ignore stopped at a path that is not part of
// this work tree.
func unjudged(err error) bool {
	return strings.Contains(err.Error(), "beyond a symbolic link") || strings.Contains(err.Error(), "in submodule")
}

// An IndexEntry is what the index says about one path.
type IndexEntry struct {
	Blob  string // object name, full hex
	Clean bool   // the file on disk is that blob
}

// IndexBlobs returns the regular files of the index. Clean is decided as git
// decides it, by the stat data the index keeps; only files as young as the
// index itself, for which that proves nothing, are read and hashed, raw: no
// filter is ever run (F39). Unmerged paths are not clean.
func (l *Repo) IndexBlobs(ctx context.Context) (map[string]IndexEntry, error) {
	out := map[string]IndexEntry{}
	if l.WorkTree == "" {
		return out, nil
	}
	var indexTime int64 // mtime of the index, ns
	if fi, err := os.Stat(filepath.Join(l.GitDir, "index")); err == nil {
		indexTime = fi.ModTime().UnixNano()
	}
	root, err := os.OpenRoot(l.WorkTree)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close()
	if out, err := l.indexBlobsFast(root, indexTime); err == nil {
		return out, nil
	}
	// --debug prints the stat data and, unlike diff-files, looks at no file:
	// diff-files runs clean filters on young entries.
	err = l.Git("ls-files", "-z", "--stage", "--debug").stream(ctx, func(r *bufio.Reader) error {
		for {
			s, err := zReader{r}.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			e, ok := parseStage(s)
			if !ok {
				return fmt.Errorf("unexpected line %.80q", s)
			}
			st, err := readDebug(r)
			if err != nil {
				return err
			}
			if !regularMode(e.mode) {
				continue
			}
			clean := e.stage == "0" && isClean(root, e, st, indexTime)
			if old, twice := out[e.path]; twice && old.Blob != "" {
				continue // unmerged: keep stage 1 or 2, not clean
			}
			out[e.path] = IndexEntry{Blob: e.oid, Clean: clean}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	return out, nil
}

// An indexStat is the part of an entry's stat data that we compare.
type indexStat struct {
	mtime int64 // ns
	size  int64
	flags uint64
}

// Flags of an index entry, as --debug prints them.
const (
	flagAssumeValid  = 0x8000
	flagSkipWorktree = 1 << 30
)

// readDebug reads the five lines that --debug prints below each entry.
func readDebug(r *bufio.Reader) (st indexStat, err error) {
	for range 5 {
		line, err := r.ReadString('\n')
		if err != nil {
			return st, io.ErrUnexpectedEOF
		}
		f := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == ':' })
		switch {
		case len(f) == 3 && f[0] == "mtime":
			sec, err1 := strconv.ParseInt(f[1], 10, 64)
			ns, err2 := strconv.ParseInt(f[2], 10, 64)
			if err := errors.Join(err1, err2); err != nil {
				return st, err
			}
			st.mtime = sec*1e9 + ns
		case len(f) == 4 && f[0] == "size":
			size, err1 := strconv.ParseInt(f[1], 10, 64)
			flags, err2 := strconv.ParseUint(f[3], 16, 64)
			if err := errors.Join(err1, err2); err != nil {
				return st, err
			}
			st.size, st.flags = size, flags
		}
	}
	return st, nil
}

// isClean reports whether the file on disk is the entry's blob.
func isClean(root *os.Root, e stageLine, st indexStat, indexTime int64) bool {
	if st.flags&(flagAssumeValid|flagSkipWorktree) != 0 {
		return false // the user told git not to look; the file may be anything
	}
	fi, err := root.Lstat(filepath.FromSlash(e.path))
	if err != nil || !fi.Mode().IsRegular() || uint32(fi.Size()) != uint32(st.size) {
		return false
	}
	mtime := fi.ModTime().UnixNano()
	// Git built without nanoseconds stores 0 there.
	same := mtime == st.mtime || st.mtime%1e9 == 0 && mtime/1e9 == st.mtime/1e9
	if same && st.mtime < indexTime {
		return true
	}
	if !same && st.mtime != 0 {
		return false
	}
	got, err := hashFile(root, e.path, fi.Size(), len(e.oid))
	return err == nil && got == e.oid
}

// maxHash bounds the files that are read to settle a young index entry.
const maxHash = 8 << 20

// hashFile returns the blob name of a file's raw bytes; hexLen tells SHA-1
// from SHA-256 repositories.
func hashFile(root *os.Root, path string, size int64, hexLen int) (string, error) {
	if size > maxHash {
		return "", fmt.Errorf("%q: larger than %d bytes: %w", path, maxHash, fold.ErrInvalid)
	}
	f, err := root.OpenFile(filepath.FromSlash(path), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() != size {
		return "", errors.Join(err, fs.ErrInvalid)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return "", err
	}
	return BlobName(b, hexLen == 64), nil
}

// BlobName returns the object name git gives a blob of these bytes, in hex: by
// SHA-256 in repositories of that format, else by SHA-1.
func BlobName(b []byte, sha256Format bool) string {
	var h hash.Hash
	if sha256Format {
		h = sha256.New()
	} else {
		h = sha1.New()
	}
	h.Write([]byte("blob " + strconv.Itoa(len(b)) + "\x00"))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// trackedFast is [Repo.tracked] without a process. It returns errOddIndex if
// git has to be asked.
func (l *Repo) trackedFast() (paths []string, links map[string]bool, err error) {
	links = map[string]bool{}
	last := ""
	err = l.readIndex(func(e *indexEntry) error {
		if string(e.path) == last {
			return nil // unmerged: one entry a side
		}
		last = string(e.path)
		if e.mode&gitTypeMask == gitGitlink {
			links[last] = true
		} else {
			paths = append(paths, last)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the index: %w", err)
	}
	return paths, links, nil
}

// indexBlobsFast is [Repo.IndexBlobs] without a process.
func (l *Repo) indexBlobsFast(root *os.Root, indexTime int64) (map[string]IndexEntry, error) {
	out := map[string]IndexEntry{}
	err := l.readIndex(func(e *indexEntry) error {
		if e.mode&gitTypeMask != gitRegular {
			return nil
		}
		line := stageLine{oid: hex.EncodeToString(e.oid), path: string(e.path)}
		if old, twice := out[line.path]; twice && old.Blob != "" {
			return nil // unmerged: keep stage 1 or 2, not clean
		}
		st := indexStat{mtime: e.mtime, size: int64(e.size), flags: e.flags}
		out[line.path] = IndexEntry{Blob: line.oid, Clean: e.stage == 0 && isClean(root, line, st, indexTime)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
