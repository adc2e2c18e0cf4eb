package gitops

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxNamed is how many ids and paths the body of a commit lists.
const maxNamed = 200

// trailerCommit is the trailer of every commit that foldwatch makes, and
// TrailerPublish that of those in which a user publishes memories.
const (
	trailerCommit  = "Foldwatch-Commit"
	TrailerPublish = "Foldwatch-Publish"
)

// plainName drops what may not stand in the name or address of a commit, or in
// one line of its message.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '<' || r == '>' {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(strings.ToValidUTF8(s, ""))
}

// message returns the whole message of a commit of files: a subject (given,
// or made up), the ids and paths in it, and the trailers (G12).
func (s *Store) message(subject string, files []draftFile) string {
	files = slices.Clone(files)
	for i := range files {
		if gone := fold.MarkedDeleted(files[i].b); gone {
			files[i].b = nil
		}
	}
	if subject == "" && len(files) == 1 {
		subject = files[0].c.reason
	}
	if subject == "" {
		subject = s.subject(files)
	}
	var b strings.Builder
	b.WriteString(oneLine(subject) + "\n\n")
	for i, f := range files {
		if i == maxNamed {
			fmt.Fprintf(&b, "… and %d more\n", len(files)-maxNamed)
			break
		}
		mark := "M"
		switch {
		case f.b == nil:
			mark = "D"
		case f.c.old.IsZero():
			mark = "A"
		}
		name := f.c.path
		if id, own := fold.OwnPath(f.c.path); own {
			name = string(id) + " " + name
		}
		b.WriteString(mark + " " + oneLine(name) + "\n")
	}
	fmt.Fprintf(&b, "\n%s: v1\nFoldwatch-Count: %d\n", trailerCommit, len(files))
	for _, a := range authors(files) {
		fmt.Fprintf(&b, "Co-authored-by: %s <%s>\n", a, committerEmail)
	}
	return b.String()
}

// authors returns the agents that wrote any of files, sorted.
func authors(files []draftFile) []string {
	var out []string
	for _, f := range files {
		if a := plainName(f.c.author); a != "" && f.c.ours != nil {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subject says what a commit does in one line.
func (s *Store) subject(files []draftFile) string {
	if len(files) == 1 {
		return "fold: " + s.told(files[0])
	}
	described, removed, commits := 0, 0, 0
	for _, f := range files {
		switch {
		case f.b == nil:
			removed++
		case hasSource(f.b, fold.SourceFile):
			described++
		case f.c.old.IsZero() && hasSource(f.b, fold.SourceGit):
			commits++
		}
		if described+removed+commits == 0 {
			break // a mix, as the first one shows
		}
	}
	slug := s.opt.Slug
	if slug == "" {
		slug = path.Base(s.l.WorkTree)
	}
	switch len(files) {
	case described:
		return fmt.Sprintf("fold: Index %d files from %s", len(files), slug)
	case removed:
		return fmt.Sprintf("fold: Remove %d memories", len(files))
	case commits:
		return fmt.Sprintf("fold: Add %d commits of %s", len(files), slug)
	}
	return fmt.Sprintf("fold: Update %d memories", len(files))
}

// hasSource reports whether a memory's frontmatter names that source. It is
// only for the subject of a commit, hence no decoding.
func hasSource(b []byte, source fold.Source) bool {
	head, _, _ := bytes.Cut(b, []byte("\n---"))
	return bytes.Contains(head, []byte("\nsource: "+string(source)+"\n"))
}

// told says what happens to one file: Add decision "Session timeout policy".
func (s *Store) told(f draftFile) string {
	verb, b := "Update", f.b
	switch {
	case f.b == nil:
		verb = "Remove"
		b, _ = s.blob(f.c.old) // for its title only
	case f.c.old.IsZero():
		verb = "Add"
	}
	if f.c.path == fold.ProjectFile {
		return verb + " " + fold.ProjectFile
	}
	m, err := fold.Decode(s.opt.Slug, f.c.path, b)
	if err != nil || m.Title == "" {
		return verb + " " + f.c.path
	}
	kind := m.Type
	if kind == "" || m.Note {
		kind = "note"
	}
	return fmt.Sprintf("%s %s %q", verb, oneLine(kind), oneLine(m.Title))
}

// oneLine makes foreign text fit into one line of a message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// maxCredited is how many commits are looked through for agents to name.
const maxCredited = 1000

// coAuthors returns the trailers that name the agents of the commits from tip
// down to, and without, end; "" if there are none.
func (s *Store) coAuthors(ctx context.Context, tip, end plumbing.Hash) (string, error) {
	var lines []string
	for n := 0; tip != end && !tip.IsZero() && n < maxCredited; n++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		c, err := s.obj.commitOf(tip)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(c.Message) {
			if strings.HasPrefix(line, "Co-authored-by: ") && strings.HasSuffix(line, " <"+committerEmail+">\n") {
				lines = append(lines, line)
			}
		}
		tip = firstParent(c)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ""), nil
}
