package commits

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/shown"
)

// maxNamed is how many ids and paths the body of a commit lists.
const maxNamed = 200

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

// A Change is what a commit does to one file below fold/.
type Change struct {
	Path  string
	Is    []byte // nil if the commit removes the file
	Was   []byte // what is removed: for its title, and only if nothing else changes
	Added bool   // there was no such file
	Agent string // that wrote it; "" if nobody is to be named
}

// Message returns the message of a commit of memories of a project: a text
// (a subject is made up where none is given), the ids and paths in it, and the
// trailers (G12).
func Message(slug, text string, files []Change) string {
	if text = strings.TrimSpace(text); text == "" {
		text = shown.OneLine(commitSubject(slug, files))
	}
	return text + "\n\n" + commitDetails(files)
}

// commitDetails is what follows the subject.
func commitDetails(files []Change) string {
	var b strings.Builder
	for i, f := range files {
		if i == maxNamed {
			fmt.Fprintf(&b, "… and %d more\n", len(files)-maxNamed)
			break
		}
		mark := "M"
		switch {
		case f.Is == nil:
			mark = "D"
		case f.Added:
			mark = "A"
		}
		name := f.Path
		if id, own := fold.OwnPath(f.Path); own {
			name = string(id) + " " + name
		}
		b.WriteString(mark + " " + shown.OneLine(name) + "\n")
	}
	fmt.Fprintf(&b, "\n%s: v1\nFoldwatch-Count: %d\n", usergit.TrailerCommit, len(files))
	for _, a := range coAuthorsOf(files) {
		fmt.Fprintf(&b, "Co-authored-by: %s <%s>\n", a, Email)
	}
	return b.String()
}

// coAuthorsOf returns the agents that wrote any of files, sorted.
func coAuthorsOf(files []Change) []string {
	var out []string
	for _, f := range files {
		if a := plainName(f.Agent); a != "" {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// commitSubject says what a commit does in one line: to memories, if it does anything
// to them, and not to the project file and the attributes beside them.
func commitSubject(slug string, files []Change) string {
	memories := slices.DeleteFunc(slices.Clone(files), func(f Change) bool { return path.Ext(f.Path) != ".md" })
	if len(memories) > 0 {
		files = memories
	}
	if len(files) == 1 {
		return "fold: " + files[0].subject(slug)
	}
	described, removed, commits := 0, 0, 0
	for _, f := range files {
		switch {
		case f.Is == nil:
			removed++
		case hasSource(f.Is, fold.SourceFile):
			described++
		case f.Added && hasSource(f.Is, fold.SourceGit):
			commits++
		}
		if described+removed+commits == 0 {
			break // a mix, as the first one shows
		}
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

// subject says what happens to one file: Add decision "Session timeout policy".
func (f Change) subject(slug string) string {
	verb, b := "Update", f.Is
	switch {
	case f.Is == nil:
		verb, b = "Remove", f.Was
	case f.Added:
		verb = "Add"
	}
	if f.Path == fold.ProjectFile {
		return verb + " " + fold.ProjectFile
	}
	m, err := fold.Decode(slug, f.Path, b)
	if err != nil || m.Title == "" {
		return verb + " " + f.Path
	}
	kind := m.Type
	if kind == "" || m.Note {
		kind = "note"
	}
	return fmt.Sprintf("%s %s %q", verb, shown.OneLine(kind), shown.OneLine(m.Title))
}

// maxCredited is how many commits are looked through for agents to name.
const maxCredited = 1000

// CoAuthors returns the trailers that name the agents of the commits from tip
// down to, and without, end; "" if there are none.
func (w *Writer) CoAuthors(ctx context.Context, tip, end plumbing.Hash) (string, error) {
	var lines []string
	for n := 0; tip != end && !tip.IsZero() && n < maxCredited; n++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		c, err := w.Objects.CommitOf(tip)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(c.Message) {
			if strings.HasPrefix(line, "Co-authored-by: ") && strings.HasSuffix(line, " <"+Email+">\n") {
				lines = append(lines, line)
			}
		}
		tip = objdb.FirstParent(c)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ""), nil
}
