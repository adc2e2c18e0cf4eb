// Package cut reads source files of a checkout and cuts them into chunks, each content
// once: what was cut is cached by the hash of the content and the rules of cutting. It
// finds the credentials in a content, so that nothing quotes them. A [Reader] is safe for
// concurrent use; it reads the work tree and the cache, and waits for parsers.
package cut

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// Racy is how old a change of a file must be when the file is read for its time to tell
// the next change from it.
const Racy = 15 * time.Millisecond

// A Cutter cuts one file at the bounds of its syntax: a [chunker.Pool], or
// [chunker.Cut] in process.
type Cutter interface {
	CutSized(ctx context.Context, path string, src []byte, by chunker.Options) (chunker.Result, error)
}

// Options are the parts of one checkout a [Reader] works with.
type Options struct {
	Slug      string
	Root      *os.Root // the work tree; nil for a bare repository
	Selection *selection.Selection
	Cache     *cache.DB
	Cutter    Cutter
	Once      *Once
	Cut       chunker.Options // for searches
	MaxBytes  int64           // how much of a file is cut
	Count     *progress.Counters
	Log       *slog.Logger
}

// A Reader reads and cuts the source files of one checkout.
type Reader struct {
	Options

	mu sync.Mutex // guards the field below
	// distrusted are hashes of content that is not to be taken from the cache.
	distrusted map[string]bool
}

// NewReader returns a reader of one checkout.
func NewReader(opt Options) *Reader { return &Reader{Options: opt} }

// Reasons of files that are indexed as text because their parser gave up.
const (
	AsText     = "cut as "
	AsTextHung = AsText + "text (parser timed out)"
)

// A File is one source file, read and cut, ready to be applied.
type File struct {
	Path      string
	ID        fold.ID
	File      index.File
	When      time.Time // last change of the file, whole seconds: the same after a rebuild
	Src       []byte
	whole     []byte         // src and the byte behind it; nil unless it is to be cut
	cached    []byte         // of the cache under key; nil if it has none
	Told      []byte         // of the cache: what was said of the content; nil if nothing was
	Remember  bool           // what is said of it goes into the cache
	Result    chunker.Result // what descriptions are made from
	Chunks    []fold.Chunk
	Unchanged bool // the content is what the index holds: only the stat moved
	Gone      bool
	Fresh     bool // the index holds nothing of it that can be kept
}

// Read reads one file, which leaves the index whatever it holds if leaves says so;
// [Reader.Finish] is to follow. Both return an error only where the work as a whole
// cannot go on; what is wrong with the file stands in its state.
func (r *Reader) Read(ctx context.Context, path string, old index.File, known, leaves bool) (*File, error) {
	pr := &File{Path: path, ID: fold.FileID(r.Slug, path), Fresh: !known || old.State != "indexed"}
	pr.File = index.File{Path: path, MemoryID: pr.ID}
	if rules := r.Selection.Rules(); !rules.Eligible(path, r.Selection.FoldDir()) {
		if _, err := r.Root.Lstat(path); err == nil && rules.HeldBack(path, r.Selection.FoldDir()) {
			return pr.setAside("skipped", "its name says that it holds credentials; it is not read"), nil
		}
		pr.Gone = true
		return pr, nil
	}
	if leaves {
		pr.Gone = true
		return pr, nil
	}
	start := time.Now()
	// one byte more than is indexed, so that the chunker sees that it is not all
	whole, info, _, err := disk.ReadSource(r.Root, path, r.MaxBytes+1, nil)
	truncated := int64(len(whole)) > r.MaxBytes
	src := whole[:min(int64(len(whole)), r.MaxBytes)]
	switch {
	case disk.Missing(err):
		pr.Gone = true
		return pr, nil
	case errors.Is(err, disk.ErrNotRegular):
		if _, pr.Gone = r.Selection.Stands(path); pr.Gone { // a folder took its place, or a file that of its folder
			return pr, nil
		}
		return pr.setAside("skipped", "not a regular file"), nil
	case err != nil:
		return pr.setAside("failed", ReadReason(err)), ctx.Err()
	}
	r.Count.FilesRead.Add(1)
	r.Count.BytesRead.Add(int64(len(src)))
	pr.File.Size, pr.File.MtimeNS, pr.File.Inode = info.Size, info.MtimeNS, info.Inode
	pr.When = time.Unix(0, info.MtimeNS).UTC().Truncate(time.Second)
	if start.UnixNano()-info.MtimeNS < int64(Racy) {
		pr.File.MtimeNS = -1 // written while we read: the next sweep reads it again, as git does
	}
	sum := sha256.Sum256(src)
	pr.File.Hash, pr.File.Truncated = hex.EncodeToString(sum[:]), truncated
	pr.File.Blob = usergit.BlobName(src, false)
	if known && old.Hash == pr.File.Hash && old.State == "indexed" && old.Truncated == truncated {
		pr.Unchanged = true
		pr.File.State, pr.File.Reason = old.State, old.Reason
		return pr, nil
	}
	switch {
	case len(src) == 0:
		return pr.setAside("skipped", "empty"), nil
	case chunker.IsBinary(src):
		return pr.setAside("skipped", "binary"), nil
	}
	pr.Src, pr.whole = src, whole
	return pr, nil
}

// LookUp asks the cache for the chunks of what was read, and for what was said of
// it.
func (r *Reader) LookUp(ctx context.Context, group []*File) {
	var keys []string
	for _, pr := range group {
		if pr.whole == nil {
			continue
		}
		keys = append(keys, cutKey(pr.Path, pr.whole, pr.File.Hash, r.Cut))
		if pr.Remember {
			keys = append(keys, r.DescriptionKey(pr))
		}
	}
	if len(keys) == 0 {
		return
	}
	got, err := r.Cache.Chunks(ctx, keys)
	if err != nil {
		return // what is not known is cut
	}
	next := func() (key string) {
		key, keys = keys[0], keys[1:]
		return key
	}
	for _, pr := range group {
		if pr.whole == nil {
			continue
		}
		key := next()
		pr.cached = got[key]
		if pr.Remember {
			pr.Told = got[next()]
		}
		if r.distrusts(pr.File.Hash) {
			pr.cached, pr.Told = nil, nil
			r.Once.forget(key)
		}
	}
}

// Finish cuts what was read.
func (r *Reader) Finish(ctx context.Context, pr *File) error {
	if pr.whole == nil {
		return nil
	}
	src := pr.Src
	creds := &verdict{src: src}
	res, err := r.cut(ctx, pr.Path, pr.whole, pr.File.Hash, r.Cut, pr.cached, creds)
	pr.Result = res
	if told := r.cutToTell(); err == nil && told.Name() != r.Cut.Name() {
		pr.Result, err = r.cutLike(ctx, pr.Path, pr.whole, pr.File.Hash, told, creds)
	}
	pr.whole, pr.cached = nil, nil
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pr.Src = nil
		pr.setAside("failed", "cut: "+err.Error())
		return nil
	}
	pr.Chunks = chunker.Assign(pr.ID, res.Chunks)
	hideSecrets(pr.Chunks, src, creds.findings())
	pr.File.State, pr.File.Reason = "indexed", textReason(res)
	if pr.File.Truncated {
		pr.File.Reason = fmt.Sprintf("only the first %d KiB of %d are indexed", len(src)>>10, pr.File.Size>>10)
	}
	return nil
}

// ReadBlob is Read for a file that is to be described as it is in a tree. It
// returns nil unless it lies in the work tree as that blob, and whole.
func (r *Reader) ReadBlob(ctx context.Context, path, blob string) (*File, error) {
	pr, err := r.Read(ctx, path, index.File{}, false, false)
	if err != nil || pr.Gone || pr.File.State == "failed" || pr.File.Truncated || pr.File.Blob != blob {
		return nil, err
	}
	return pr, nil
}

func (pr *File) setAside(state, reason string) *File {
	pr.File.State, pr.File.Reason = state, reason
	return pr
}

// ReadReason names why a file cannot be read, without the path, which stands
// beside it.
func ReadReason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return "read: " + pe.Err.Error()
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return "read: " + no.Error()
	}
	return "read: " + err.Error()
}

// cutKey is what the chunks of a file are cached under.
func cutKey(path string, src []byte, hash string, by chunker.Options) string {
	key := hash + "/" + Rules(chunker.Options{}) + "/" + chunker.Variant(path, src)
	if name := by.Name(); name != "" {
		key += "/" + name
	}
	return key
}

// Rules tells the rules by which files are cut, and credentials found in them,
// from others.
func Rules(by chunker.Options) string {
	rules := chunker.Version + "/" + chunker.Engine() + "/" + secret.Version
	if name := by.Name(); name != "" {
		rules += "/" + name
	}
	return rules
}

// cutToTell is how files are cut to be described.
func (r *Reader) cutToTell() chunker.Options { return chunker.Options{MaxBytes: r.Cut.MaxBytes} }

// ToDescribe returns src as it is cut to be described.
func (r *Reader) ToDescribe(ctx context.Context, path string, src []byte) (chunker.Result, error) {
	return r.cutLike(ctx, path, src, fold.ContentHash(src), r.cutToTell(), &verdict{src: src})
}

// cutLike is cut, with what the cache has.
func (r *Reader) cutLike(ctx context.Context, path string, src []byte, hash string, by chunker.Options, creds *verdict) (chunker.Result, error) {
	key := cutKey(path, src, hash, by)
	got, err := r.Cache.Chunks(ctx, []string{key})
	if err != nil || r.distrusts(hash) {
		got = nil // what is not known is cut
	}
	return r.cut(ctx, path, src, hash, by, got[key], creds)
}

// cut returns the chunks of src, from cached, which may be nil, where that is
// whole; creds are those in src. New chunks are cached soon: see
// [cache.DB.Flush].
func (r *Reader) cut(ctx context.Context, path string, src []byte, hash string, by chunker.Options, cached []byte, creds *verdict) (chunker.Result, error) {
	if cached != nil {
		if res, err := decodeCut(cached, creds); err == nil {
			r.Count.ChunkHits.Add(1)
			return res, nil
		}
	}
	var res chunker.Result
	key := cutKey(path, src, hash, by)
	again := func() ([]byte, error) {
		got, err := r.Cache.Chunks(ctx, []string{key})
		return got[key], err
	}
	made, mine, err := r.Once.once(ctx, key, again, func() (_ []byte, err error) {
		r.Count.Parses.Add(1)
		if res, err = r.Cutter.CutSized(ctx, path, src, by); err != nil {
			return nil, err
		}
		dropSecretDocs(&res, src, creds.findings())
		if res.Provisional() {
			return nil, nil // a busy machine timed out: not to be remembered
		}
		b := encodeCut(&res, creds)
		if err := r.Cache.PutChunksSoon(ctx, key, b); err != nil {
			r.Log.WarnContext(ctx, "Chunk cache not written", "err", err)
		}
		return b, nil
	})
	if mine || err != nil {
		return res, err
	}
	r.Count.ChunkHits.Add(1)
	return decodeCut(made, creds)
}

// Flush writes the chunks that were cut, and the vectors that were computed,
// since the last time.
func (r *Reader) Flush(ctx context.Context) {
	if err := r.Cache.Flush(ctx); err != nil {
		r.Log.WarnContext(ctx, "Cache not written", "err", err)
	}
}

// dropSecretDocs takes out of res the quoted comments and first paragraphs that
// a credential may stand in: they go into the cache and into descriptions.
func dropSecretDocs(res *chunker.Result, src []byte, findings []secret.Finding) {
	if len(findings) == 0 {
		return
	}
	lines := bytes.Split(src, []byte{'\n'})
	res.Doc = "" // where it begins and ends is not known
	for i := range res.Chunks {
		c := &res.Chunks[i]
		for _, f := range findings {
			line := ""
			if f.Line <= len(lines) {
				line = string(bytes.TrimSpace(lines[f.Line-1]))
			}
			if c.StartLine <= f.Line && f.Line <= c.EndLine || line != "" && strings.Contains(c.Doc, line) {
				c.Doc = ""
			}
		}
	}
}

// hideSecrets marks the chunks whose text holds a credential.
func hideSecrets(chunks []fold.Chunk, src []byte, findings []secret.Finding) {
	for _, f := range findings {
		for i := range chunks {
			if chunks[i].StartLine <= f.Line && f.Line <= chunks[i].EndLine {
				chunks[i].Hidden = true
			}
		}
	}
	if len(findings) == 0 {
		return
	}
	for i := range chunks { // a key of many lines may begin in one chunk and end in the next
		c := &chunks[i]
		if !c.Hidden && len(secret.Scan(src[c.StartByte:c.EndByte])) > 0 {
			c.Hidden = true
		}
	}
}

// DescriptionKey is what the description of what was read is cached under.
func (r *Reader) DescriptionKey(pr *File) string {
	return fmt.Sprintf("described/%s/%s/%s/%d/%t/%s/%s", describe.Version, Rules(chunker.Options{}), pr.File.Hash, r.MaxBytes, pr.File.Truncated, r.Slug, pr.Path)
}

// textReason says why a file of known syntax was cut as text, "" if it was not.
func textReason(res chunker.Result) string {
	if strings.HasPrefix(res.Strategy, "text (") {
		return AsText + res.Strategy
	}
	return ""
}

// Distrust has the cache not asked for what was cut of this content: a parser
// crashed on it, and a person wants it tried again.
func (r *Reader) Distrust(hash string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.distrusted == nil {
		r.distrusted = map[string]bool{}
	}
	r.distrusted[hash] = true
}

// distrusts reports whether the cache is not to be asked about this content, for
// once.
func (r *Reader) distrusts(hash string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.distrusted[hash]
	delete(r.distrusted, hash)
	return was
}

// Held is how many bytes are held of a file until it is cut.
func (pr *File) Held() int { return len(pr.whole) }

// Measure finds out how large the source files at paths are, in all. It looks
// at folder by folder, which is a fifth of the work where paths are sorted.
func (r *Reader) Measure(paths []string) int64 {
	var dir *os.Root
	var at string
	defer func() {
		if dir != nil {
			dir.Close()
		}
	}()
	total := int64(0)
	for _, p := range paths {
		if d := path.Dir(p); dir == nil || d != at {
			next, err := r.Root.OpenRoot(d)
			if err != nil {
				continue // what is wrong with it, reading it tells
			}
			if dir != nil {
				dir.Close()
			}
			dir, at = next, d
		}
		if fi, err := dir.Lstat(path.Base(p)); err == nil && fi.Mode().IsRegular() {
			total += min(fi.Size(), r.MaxBytes)
		}
	}
	return total
}
