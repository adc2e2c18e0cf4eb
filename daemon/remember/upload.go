package remember

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Upload makes one memory of each file, under the slug `upload:<path>`, so that a later
// upload of the same path updates it. An error in one file does not stop the others.
func (d *Service) Upload(ctx context.Context, sc fold.Scope, req wire.FilesUpload) (wire.FilesUploaded, error) {
	if len(req.Files) == 0 {
		return wire.FilesUploaded{}, fmt.Errorf("upload: no files: %w", fold.ErrInvalid)
	}
	out := wire.FilesUploaded{Results: make([]wire.UploadResult, 0, len(req.Files))}
	for _, f := range req.Files {
		res := wire.UploadResult{Path: f.Path}
		reply, err := d.uploadOne(ctx, sc, f, req.Author)
		if err != nil {
			res.Error = err.Error()
		} else {
			res.WriteReply = reply
		}
		out.Results = append(out.Results, res)
	}
	return out, nil
}

func (d *Service) uploadOne(ctx context.Context, sc fold.Scope, f wire.UploadFile, author string) (wire.WriteReply, error) {
	name := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(f.Path, "\\", "/")), "/")
	switch {
	case name == "":
		return wire.WriteReply{}, fmt.Errorf("upload: a file without a path: %w", fold.ErrInvalid)
	case !utf8.ValidString(f.Content) || strings.IndexByte(f.Content, 0) >= 0:
		return wire.WriteReply{}, fmt.Errorf("upload %s: it is not text: %w", name, fold.ErrInvalid)
	case len(f.Content) > MaxContent:
		return wire.WriteReply{}, fmt.Errorf("upload %s: %w", name, tooMany("bytes of content", len(f.Content), MaxContent))
	}
	req := wire.MemoryCreate{Content: f.Content, Slug: "upload:" + name, Author: author, FilePath: name}
	if strings.HasSuffix(name, ".md") {
		// markdown keeps its frontmatter: what it says of itself is read as ours
		if m, err := fold.Decode(d.Slug, name, []byte(f.Content)); err == nil {
			req.Content, req.Title, req.Type, req.Context = m.Body, m.Title, m.Type, m.Context
			req.Tags, req.Keywords, req.OriginalDate = clipList(m.Tags, MaxTags), clipList(m.Keywords, MaxKeywords), m.OriginalDate
			req.Author = firstOf(author, m.Author)
		}
	} else {
		req.Title = clip(name, MaxTitle)
	}
	if strings.TrimSpace(req.Content) == "" {
		return wire.WriteReply{}, fmt.Errorf("upload %s: it is empty: %w", name, fold.ErrInvalid)
	}
	return d.Add(ctx, sc, req)
}

func clipList(list []string, n int) []string {
	if len(list) > n {
		return list[:n]
	}
	return list
}

func isConflict(err error) bool { return errors.Is(err, fold.ErrConflict) }
