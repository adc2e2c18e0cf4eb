package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/secret"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

const (
	batchFiles = 2048    // files of one transaction
	batchBytes = 4 << 20 // and at most this much of their text
	partFiles  = 16      // files handed to a worker at once
	groupFiles = 64      // files of one look into the cache
	groupBytes = 1 << 20 // and at most this much of their text, and one file more
	racy       = 15 * time.Millisecond

	// textBatch is how many documents are given to the text index at once. Three
	// rebuilds of the Go source (117,278 chunks) took 11.1 to 13.1 s of processor and
	// 212 to 232 MB at most with it, three with 4000 took 12.6 to 13.7 s and 234 to
	// 333 MB, in turns.
	textBatch = 1000
)

// prepared is one source file, read and cut, ready to be applied.
type prepared struct {
	path      string
	id        fold.ID
	file      index.File
	when      time.Time // last change of the file, whole seconds: the same after a rebuild
	src       []byte
	whole     []byte         // src and the byte behind it; nil unless it is to be cut
	cached    []byte         // of the cache under key; nil if it has none
	told      []byte         // of the cache: what was said of the content; nil if nothing was
	remember  bool           // what is said of it goes into the cache
	result    chunker.Result // what descriptions are made from
	chunks    []fold.Chunk
	unchanged bool // the content is what the index holds: only the stat moved
	gone      bool
	fresh     bool // the index holds nothing of it that can be kept
}

// Source brings the index up to the source files at paths, relative to the
// checkout. A path that is certainly gone, or no longer eligible, leaves the
// index. Work is applied in batches, so that a crash loses at most the last.
func (in *Ingester) Source(ctx context.Context, paths []string, progress Progress) (Report, error) {
	if in.root == nil || len(paths) == 0 {
		return Report{}, nil
	}
	defer func() { in.leaving = nil }()
	in.recent = recent{}
	known, err := in.manifest(ctx, paths, false)
	if err != nil {
		return Report{}, err
	}
	total := Report{}
	work := make(chan []string)
	done := make(chan []*prepared, 1)
	count := newTally(progress, stageIndexing, len(paths))
	g, gctx := errgroup.WithContext(ctx)
	if progress != nil && len(paths) > batchFiles {
		g.Go(func() error {
			count.whole.Store(in.measure(paths))
			return nil
		})
	}
	g.Go(func() error {
		defer close(work)
		for part := range slices.Chunk(paths, partFiles) {
			select {
			case work <- part:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	var readers errgroup.Group
	for range in.Workers {
		readers.Go(func() error { return in.prepareAll(gctx, work, done, known) })
	}
	g.Go(func() error {
		defer close(done)
		return readers.Wait()
	})
	g.Go(func() error { return in.applyAll(gctx, done, &total, count) })
	err = g.Wait()
	in.keepCuts(ctx)
	if err != nil {
		return total, fmt.Errorf("index source files: %w", err)
	}
	return total, nil
}

// prepareAll prepares the files it is given, some at a time: what is known of
// them in the cache is then asked for at once.
func (in *Ingester) prepareAll(ctx context.Context, work <-chan []string, done chan<- []*prepared, known map[string]index.File) error {
	var part []string
	for more := true; more; {
		var group []*prepared
		for size := 0; more && len(group) < groupFiles && size < groupBytes; {
			if len(part) == 0 {
				if part, more = <-work; !more {
					break
				}
			}
			p := part[0]
			part = part[1:]
			old, ok := known[p]
			pr, err := in.read(ctx, p, old, ok)
			if err != nil {
				return err
			}
			pr.remember = len(known) > 0
			group = append(group, pr)
			size += len(pr.whole)
		}
		in.lookUp(ctx, group)
		for _, pr := range group {
			if err := in.finish(ctx, pr); err != nil {
				return err
			}
		}
		select {
		case done <- group:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (in *Ingester) applyAll(ctx context.Context, done <-chan []*prepared, total *Report, count *tally) error {
	var batch []*prepared
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		r, err := in.applySource(ctx, batch)
		if err != nil {
			return err
		}
		total.add(r)
		count.keep(len(batch))
		batch, size = nil, 0
		return nil
	}
	for group := range done {
		for _, pr := range group {
			batch = append(batch, pr)
			size += len(pr.src)
			count.worked(1, min(pr.file.Size, in.MaxBytes))
			if len(batch) >= batchFiles || size >= batchBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// manifest returns what is known of paths, and maybe of others: those of a branch
// by name, those of a first index all at once.
func (in *Ingester) manifest(ctx context.Context, paths []string, foldFiles bool) (map[string]index.File, error) {
	if len(paths) > 8192 {
		return in.Index.Files(ctx, foldFiles)
	}
	return in.Index.FilesByPath(ctx, paths, foldFiles)
}

// read reads one file; [Ingester.finish] is to follow. Both return an error only
// where the work as a whole cannot go on; what is wrong with the file stands in
// its state.
func (in *Ingester) read(ctx context.Context, path string, old index.File, known bool) (*prepared, error) {
	pr := &prepared{path: path, id: fold.FileID(in.Slug, path), fresh: !known || old.State != "indexed"}
	pr.file = index.File{Path: path, MemoryID: pr.id}
	if rules := in.Rules(); !rules.Eligible(path, in.FoldDir) {
		if _, err := in.root.Lstat(path); err == nil && rules.HeldBack(path, in.FoldDir) {
			return pr.setAside("skipped", "its name says that it holds credentials; it is not read"), nil
		}
		pr.gone = true
		return pr, nil
	}
	if in.leaving[path] {
		pr.gone = true
		return pr, nil
	}
	start := time.Now()
	// one byte more than is indexed, so that the chunker sees that it is not all
	whole, info, _, err := disk.ReadSource(in.root, path, in.MaxBytes+1, nil)
	truncated := int64(len(whole)) > in.MaxBytes
	src := whole[:min(int64(len(whole)), in.MaxBytes)]
	switch {
	case disk.Missing(err):
		pr.gone = true
		return pr, nil
	case errors.Is(err, disk.ErrNotRegular):
		if _, pr.gone = in.Stands(path); pr.gone { // a folder took its place, or a file that of its folder
			return pr, nil
		}
		return pr.setAside("skipped", "not a regular file"), nil
	case err != nil:
		return pr.setAside("failed", readReason(err)), ctx.Err()
	}
	in.Count.FilesRead.Add(1)
	in.Count.BytesRead.Add(int64(len(src)))
	pr.file.Size, pr.file.MtimeNS, pr.file.Inode = info.Size, info.MtimeNS, info.Inode
	pr.when = time.Unix(0, info.MtimeNS).UTC().Truncate(time.Second)
	if start.UnixNano()-info.MtimeNS < int64(racy) {
		pr.file.MtimeNS = -1 // written while we read: the next sweep reads it again, as git does
	}
	sum := sha256.Sum256(src)
	pr.file.Hash, pr.file.Truncated = hex.EncodeToString(sum[:]), truncated
	pr.file.Blob = usergit.BlobName(src, false)
	if known && old.Hash == pr.file.Hash && old.State == "indexed" && old.Truncated == truncated {
		pr.unchanged = true
		pr.file.State, pr.file.Reason = old.State, old.Reason
		return pr, nil
	}
	switch {
	case len(src) == 0:
		return pr.setAside("skipped", "empty"), nil
	case chunker.IsBinary(src):
		return pr.setAside("skipped", "binary"), nil
	}
	pr.src, pr.whole = src, whole
	return pr, nil
}

// lookUp asks the cache for the chunks of what was read, and for what was said of
// it.
func (in *Ingester) lookUp(ctx context.Context, group []*prepared) {
	var keys []string
	for _, pr := range group {
		if pr.whole == nil {
			continue
		}
		keys = append(keys, cutKey(pr.path, pr.whole, pr.file.Hash, in.Cut))
		if pr.remember {
			keys = append(keys, in.descriptionKey(pr))
		}
	}
	if len(keys) == 0 {
		return
	}
	got, err := in.Cache.Chunks(ctx, keys)
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
		if pr.remember {
			pr.told = got[next()]
		}
		if in.distrusts(pr.file.Hash) {
			pr.cached, pr.told = nil, nil
			in.Cuts.forget(key)
		}
	}
}

// finish cuts what was read.
func (in *Ingester) finish(ctx context.Context, pr *prepared) error {
	if pr.whole == nil {
		return nil
	}
	src := pr.src
	creds := &verdict{src: src}
	res, err := in.cut(ctx, pr.path, pr.whole, pr.file.Hash, in.Cut, pr.cached, creds)
	pr.result = res
	if told := in.cutToTell(); err == nil && told.Name() != in.Cut.Name() {
		pr.result, err = in.cutLike(ctx, pr.path, pr.whole, pr.file.Hash, told, creds)
	}
	pr.whole, pr.cached = nil, nil
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pr.src = nil
		pr.setAside("failed", "cut: "+err.Error())
		return nil
	}
	pr.chunks = chunker.Assign(pr.id, res.Chunks)
	hideSecrets(pr.chunks, src, creds.findings())
	pr.file.State, pr.file.Reason = "indexed", textReason(res)
	if pr.file.Truncated {
		pr.file.Reason = fmt.Sprintf("only the first %d KiB of %d are indexed", len(src)>>10, pr.file.Size>>10)
	}
	return nil
}

// readBlob is read for a file that is to be described as it is in a tree. It
// returns nil unless it lies in the work tree as that blob, and whole.
func (in *Ingester) readBlob(ctx context.Context, path, blob string) (*prepared, error) {
	pr, err := in.read(ctx, path, index.File{}, false)
	if err != nil || pr.gone || pr.file.State == "failed" || pr.file.Truncated || pr.file.Blob != blob {
		return nil, err
	}
	return pr, nil
}

func (pr *prepared) setAside(state, reason string) *prepared {
	pr.file.State, pr.file.Reason = state, reason
	return pr
}

// readReason names why a file cannot be read, without the path, which stands
// beside it.
func readReason(err error) string {
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
	key := hash + "/" + cutRules(chunker.Options{}) + "/" + chunker.Variant(path, src)
	if name := by.Name(); name != "" {
		key += "/" + name
	}
	return key
}

// IndexRules tells the rules by which an index is made of source files from
// others: where they are others it is to be made anew, see [index.DB.Recut].
func IndexRules(by chunker.Options) string {
	return cutRules(by) + " describer " + describe.Version
}

// cutRules tells the rules by which files are cut, and credentials found in them,
// from others.
func cutRules(by chunker.Options) string {
	rules := chunker.Version + "/" + chunker.Engine() + "/" + secret.Version
	if name := by.Name(); name != "" {
		rules += "/" + name
	}
	return rules
}

// cutToTell is how files are cut to be described.
func (in *Ingester) cutToTell() chunker.Options { return chunker.Options{MaxBytes: in.Cut.MaxBytes} }

// cutLike is cut, with what the cache has.
func (in *Ingester) cutLike(ctx context.Context, path string, src []byte, hash string, by chunker.Options, creds *verdict) (chunker.Result, error) {
	key := cutKey(path, src, hash, by)
	got, err := in.Cache.Chunks(ctx, []string{key})
	if err != nil || in.distrusts(hash) {
		got = nil // what is not known is cut
	}
	return in.cut(ctx, path, src, hash, by, got[key], creds)
}

// cut returns the chunks of src, from cached, which may be nil, where that is
// whole; creds are those in src. New chunks are cached soon: see
// [cache.DB.Flush].
func (in *Ingester) cut(ctx context.Context, path string, src []byte, hash string, by chunker.Options, cached []byte, creds *verdict) (chunker.Result, error) {
	if cached != nil {
		if res, err := decodeCut(cached, creds); err == nil {
			in.Count.ChunkHits.Add(1)
			return res, nil
		}
	}
	var res chunker.Result
	key := cutKey(path, src, hash, by)
	again := func() ([]byte, error) {
		got, err := in.Cache.Chunks(ctx, []string{key})
		return got[key], err
	}
	made, mine, err := in.Cuts.once(ctx, key, again, func() (_ []byte, err error) {
		in.Count.Parses.Add(1)
		if res, err = in.Cutter.CutSized(ctx, path, src, by); err != nil {
			return nil, err
		}
		dropSecretDocs(&res, src, creds.findings())
		if res.Provisional() {
			return nil, nil // a busy machine timed out: not to be remembered
		}
		b := encodeCut(&res, creds)
		if err := in.Cache.PutChunksSoon(ctx, key, b); err != nil {
			in.Log.WarnContext(ctx, "Chunk cache not written", "err", err)
		}
		return b, nil
	})
	if mine || err != nil {
		return res, err
	}
	in.Count.ChunkHits.Add(1)
	return decodeCut(made, creds)
}

// keepCuts writes the chunks that were cut, and the vectors that were computed,
// since the last time.
func (in *Ingester) keepCuts(ctx context.Context) {
	if err := in.Cache.Flush(ctx); err != nil {
		in.Log.WarnContext(ctx, "Cache not written", "err", err)
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

// applySource writes one batch: SQLite first, then the text index. Vectors
// follow by themselves, see [Ingester.Embed].
func (in *Ingester) applySource(ctx context.Context, batch []*prepared) (Report, error) {
	ids := make([]fold.ID, 0, len(batch))
	for _, pr := range batch {
		ids = append(ids, pr.id)
	}
	described, err := in.Index.Described(ctx, ids)
	if err != nil {
		return Report{}, err
	}
	rows, err := in.memories(ctx, slices.DeleteFunc(ids, func(id fold.ID) bool { return described[id] != "fold" }))
	if err != nil {
		return Report{}, err
	}
	var r Report
	var changes []index.Change
	texts := map[string]*prepared{} // by memory id
	for _, pr := range batch {
		r.Checked++
		switch {
		case pr.unchanged:
			r.Unchanged++
			changes = append(changes, index.Change{File: &pr.file})
		case pr.gone:
			r.Removed++
			changes = append(changes, dropped(pr, rows, described)...)
		case pr.file.State != "indexed":
			if pr.file.State == "failed" {
				r.Failed++
			} else {
				r.Skipped++
			}
			changes = append(changes, dropped(pr, rows, described)...)
			changes = append(changes, index.Change{File: &pr.file})
		default:
			r.Indexed++
			pr.fresh = pr.fresh || described[pr.id] == ""
			changes = append(changes, in.sourceChange(ctx, pr, rows))
			texts[string(pr.id)] = pr
			in.recent.keep(pr)
			r.Memories = append(r.Memories, pr.id)
		}
	}
	if err := in.noteSaved(ctx, batch, described); err != nil {
		return r, err
	}
	if err := in.catchUpFirst(ctx); err != nil {
		return r, err
	}
	applied, err := in.apply(ctx, changes)
	if err != nil {
		return r, err
	}
	in.recent.cut(applied.Now)
	return r, in.applyText(ctx, applied, changes, texts)
}

// dropped takes a source file out of the index. A memory that has its own file
// in fold/ stays, without chunks: rows has those, and described all there are.
func dropped(pr *prepared, rows map[fold.ID]index.Row, described map[fold.ID]string) []index.Change {
	out := []index.Change{{Drop: pr.path}}
	if old, own := rows[pr.id]; own {
		old.Stale = old.SourceBlob != ""
		out = append(out, index.Change{Memory: &old, SetChunks: true})
	} else if described[pr.id] != "" {
		out = append(out, index.Change{Forget: pr.id})
	}
	return out
}

// sourceChange is what an indexed file changes: its manifest entry, its chunks,
// and its memory where that is kept in the index only: rows has the others.
func (in *Ingester) sourceChange(ctx context.Context, pr *prepared, rows map[fold.ID]index.Row) index.Change {
	c := index.Change{File: &pr.file, Chunks: pr.chunks, SetChunks: true}
	if old, own := rows[pr.id]; own {
		old.Stale = stale(old.SourceBlob, pr.file.Blob, pr.src)
		c.Memory = &old
		return c
	}
	m, asked := in.described(ctx, pr)
	row := index.Row{Memory: *m, Described: "index"}
	c.Memory, c.Asked, c.Links, c.SetLinks = &row, asked, m.Links, true
	return c
}

// applyText brings the words of the changes that were applied into the text
// index.
func (in *Ingester) applyText(ctx context.Context, applied index.Applied, changes []index.Change, texts map[string]*prepared) error {
	in.worded = false
	rows, err := in.rowsOf(ctx, applied, changes)
	if err != nil {
		return err
	}
	added := make(map[string]bool, len(applied.Added))
	for _, id := range applied.Added {
		added[id] = true
	}
	var docs []textindex.Doc
	for _, id := range applied.Memories {
		row, ok := rows[id]
		if !ok {
			continue
		}
		pr := texts[string(id)]
		if pr == nil {
			docs = append(docs, memoryDoc(row))
			continue
		}
		docs = append(docs, sourceDocs(row, pr, applied.Rows[id], added)...)
	}
	// In parts, which bounds memory. Only the last moves the sequence on, so that
	// a crash between two repeats them all.
	for len(docs) > textBatch {
		if err := in.putText(ctx, in.Text.Seq(), docs[:textBatch], nil); err != nil {
			return err
		}
		docs = docs[textBatch:]
	}
	err = in.putText(ctx, applied.Seq, docs, dropKeys(applied))
	in.worded = err == nil
	return err
}

// sourceDocs returns the documents to put of a source file: of its chunks those
// that were added, of its memory one, unless a chunk can tell what changed. A
// branch switch changes thousands of memories in nothing but blob and time.
func sourceDocs(row index.Row, pr *prepared, change index.RowChange, added map[string]bool) []textindex.Doc {
	// Chunks are filtered by the fields of their memory, and none of them may date
	// it later than it is.
	fresh := pr.fresh || change.FilterChanged || row.UpdatedAt.Before(change.Was)
	var docs []textindex.Doc
	for _, c := range pr.chunks {
		if fresh || added[c.ID] {
			docs = append(docs, chunkDoc(row, c, pr.src))
		}
	}
	if fresh || change.ContentChanged || change.Was.IsZero() || row.Described != "index" || len(docs) == 0 {
		return append(docs, memoryDoc(row))
	}
	for i := range docs {
		docs[i].Dates = true
	}
	return docs
}

// rowsOf returns the rows of the memories that changed: those that were just
// stored, and the others from the index.
func (in *Ingester) rowsOf(ctx context.Context, applied index.Applied, changes []index.Change) (map[fold.ID]index.Row, error) {
	rows := make(map[fold.ID]index.Row, len(applied.Memories))
	for i := range changes {
		switch c := &changes[i]; {
		case c.Memory != nil:
			rows[c.Memory.ID] = *c.Memory
		case c.Forget != "":
			delete(rows, c.Forget)
		}
	}
	var rest []fold.ID
	for _, id := range applied.Memories {
		if _, ok := rows[id]; !ok {
			rest = append(rest, id)
		}
	}
	stored, err := in.memories(ctx, rest)
	if err != nil {
		return nil, err
	}
	maps.Copy(rows, stored)
	return rows, nil
}

func dropKeys(applied index.Applied) []string {
	drop := make([]string, 0, len(applied.Removed)+len(applied.Forgotten))
	for _, id := range applied.Removed {
		drop = append(drop, chunkKey(id))
	}
	for _, id := range applied.Forgotten {
		drop = append(drop, memoryKey(id))
	}
	return drop
}

// stale reports whether src differs from the blob that was described, also when
// git would store its line ends as LF. Clean filters are asked of git's index
// in a sweep, see [Ingester.RefreshStale].
func stale(described, blob string, src []byte) bool {
	if described == "" || described == blob {
		return false
	}
	long := len(described) == 64 // a repository of SHA-256 objects
	return described != usergit.BlobName(src, long) &&
		described != usergit.BlobName(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), long)
}

// subject is what [describe.Describe] is told of a file.
func (in *Ingester) subject(path, blob string, src []byte, res chunker.Result, when time.Time, files *imports.Files) describe.Subject {
	return describe.Subject{
		Slug: in.Slug, Path: path, Language: res.Language, Blob: blob, Source: src,
		Chunks: res.Chunks, Package: res.Package, Doc: res.Doc, Imports: res.Imports, Tested: files.Tested(path), Committed: when,
		Resolve: func(imp string) (string, bool) { return files.Resolve(path, res.Language, imp) },
	}
}

// ReadSource returns a source file as it lies in the checkout, at most its
// first MaxBytes, nil if it is not there.
func (in *Ingester) ReadSource(_ context.Context, path string) ([]byte, error) {
	if in.root == nil {
		return nil, nil
	}
	src, _, _, err := disk.ReadSource(in.root, path, in.MaxBytes, nil)
	if disk.Missing(err) {
		return nil, nil
	}
	return src, err
}

// ReadParts reads parts of a source file as [disk.ReadParts] does; of one that is
// not there, none.
func (in *Ingester) ReadParts(_ context.Context, path string, parts [][2]int, fn func(i int, part []byte)) error {
	if in.root == nil {
		return nil
	}
	if err := disk.ReadParts(in.root, path, in.MaxBytes, parts, fn); !disk.Missing(err) {
		return err
	}
	return nil
}
