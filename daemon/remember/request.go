package remember

import (
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// fromRequest returns the memory of a request, without id and links.
func (d *Service) fromRequest(sc fold.Scope, req wire.MemoryCreate) (*fold.Memory, error) {
	if strings.TrimSpace(req.Content) == "" {
		return nil, fmt.Errorf("content is empty: %w", fold.ErrInvalid)
	}
	m := &fold.Memory{
		Title: strings.TrimSpace(req.Title), Type: req.Type, Source: fold.Source(req.Source),
		Author: firstOf(req.Author, sc.Author), Tags: trimmed(req.Tags), Keywords: trimmed(req.Keywords),
		Context: strings.TrimSpace(req.Context), Slug: req.Slug, FilePath: req.FilePath, Pinned: req.Pinned,
		Importance: req.Importance, OriginalDate: req.OriginalDate, Visibility: req.Visibility,
	}
	if m.Type == "" {
		m.Type = "general"
	}
	if m.Source == "" {
		m.Source = fold.SourceAgent
	}
	content := strings.ReplaceAll(req.Content, "\r\n", "\n")
	m.Title, m.Body = titled(m.Title, content)
	m.Aliases = []string{m.Title}
	m.CreatedAt = d.stamp()
	m.UpdatedAt = m.CreatedAt
	if (req.AutoMetadata == nil || *req.AutoMetadata) && len(m.Keywords) == 0 && d.Keywords != nil {
		m.Keywords = d.Keywords(m.Title + "\n" + content)
	}
	return m, valid(m)
}

// titled returns the title of a text, and the text without its heading. If no title is
// given, it is the first heading, or else the first line.
func titled(title, content string) (string, string) {
	content = strings.Trim(content, "\n")
	first, _, _ := strings.Cut(content, "\n")
	heading, has := strings.CutPrefix(first, "# ")
	if title == "" {
		title = strings.TrimSpace(strings.TrimLeft(first, "#> -*\t"))
		title = clip(title, MaxTitle)
		if title == "" {
			title = "Untitled"
		}
	}
	if has && strings.TrimSpace(heading) == title {
		return title, content + "\n"
	}
	return title, "# " + title + "\n\n" + content + "\n"
}

// clip cuts s to n runes, at a word boundary if one is near.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	cut := string(r[:n-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

func valid(m *fold.Memory) error {
	switch {
	case runes(m.Title) > MaxTitle:
		return tooMany("runes in the title", runes(m.Title), MaxTitle)
	case strings.ContainsAny(m.Title, "\n\r"):
		return fmt.Errorf("the title has a line break: %w", fold.ErrInvalid)
	case len(m.Tags) > MaxTags:
		return tooMany("tags", len(m.Tags), MaxTags)
	case len(m.Keywords) > MaxKeywords:
		return tooMany("keywords", len(m.Keywords), MaxKeywords)
	case len(m.Body) > MaxContent:
		return tooMany("bytes of content", len(m.Body), MaxContent)
	case m.Importance < 0 || m.Importance > 1:
		return fmt.Errorf("importance %v is not between 0 and 1: %w", m.Importance, fold.ErrInvalid)
	case m.Visibility != "" && m.Visibility != "shared" && m.Visibility != "local":
		return fmt.Errorf("visibility %q is neither shared nor local: %w", m.Visibility, fold.ErrInvalid)
	}
	switch m.Source {
	case fold.SourceFile, fold.SourceAgent, fold.SourceGit:
		return nil
	}
	return fmt.Errorf("source %q is none of file, agent, git: %w", m.Source, fold.ErrInvalid)
}

// applied returns a copy of old with the fields that req sets.
func (d *Service) applied(ctx context.Context, old *fold.Memory, req wire.MemoryUpdate) (*fold.Memory, error) {
	m := *old
	body, err := editedBody(old, req)
	if err != nil {
		return nil, err
	}
	m.Body = body
	set(&m.Title, req.Title)
	set(&m.Type, req.Type)
	set(&m.Context, req.Context)
	set(&m.Author, req.Author)
	set(&m.FilePath, req.FilePath)
	set(&m.OriginalDate, req.OriginalDate)
	set(&m.Visibility, req.Visibility)
	set(&m.Pinned, req.Pinned)
	set(&m.Importance, req.Importance)
	if req.Tags != nil {
		m.Tags = trimmed(*req.Tags)
	}
	if req.Keywords != nil {
		m.Keywords = trimmed(*req.Keywords)
	}
	if req.Title != nil {
		m.Title = strings.TrimSpace(*req.Title)
		m.Aliases = replaced(old.Aliases, old.Title, m.Title)
		m.Body = retitled(m.Body, old.Title, m.Title)
	}
	links, err := d.newLinks(ctx, old.ID, req.Links)
	if err != nil {
		return nil, err
	}
	m.Links = mergeLinks(old.Links, links)
	return &m, valid(&m)
}

func editedBody(old *fold.Memory, req wire.MemoryUpdate) (string, error) {
	body := old.Body
	if req.Content != nil {
		if strings.TrimSpace(*req.Content) == "" {
			return "", fmt.Errorf("content is empty: %w", fold.WithHint(fold.ErrInvalid, "to remove the memory, delete it"))
		}
		title := old.Title
		if req.Title != nil { // the text may have the heading already
			title = strings.TrimSpace(*req.Title)
		}
		_, body = titled(title, strings.ReplaceAll(*req.Content, "\r\n", "\n"))
	}
	if r := req.Replace; r != nil {
		switch n := strings.Count(body, r.Old); {
		case r.Old == "" || n == 0:
			return "", fmt.Errorf("replace: the old text is not in the memory: %w", fold.ErrInvalid)
		case n > 1:
			return "", fmt.Errorf("replace: the old text stands %d times in the memory; give more of it: %w", n, fold.ErrInvalid)
		}
		body = strings.Replace(body, r.Old, r.New, 1)
	}
	if s := req.Section; s != nil {
		body = withSection(body, s.Heading, s.Text)
	}
	if req.Prepend != "" {
		heading, rest := "", body
		if strings.HasPrefix(body, "# ") {
			if i := strings.IndexByte(body, '\n'); i >= 0 {
				heading, rest = body[:i+1], strings.TrimLeft(body[i+1:], "\n")
				heading += "\n"
			}
		}
		body = heading + strings.TrimRight(req.Prepend, "\n") + "\n\n" + rest
	}
	if req.Append != "" {
		body = strings.TrimRight(body, "\n") + "\n\n" + strings.TrimRight(req.Append, "\n") + "\n"
	}
	return body, nil
}

// withSection returns body with text under heading: it replaces what is there up to the
// next heading of the same or a higher level, or is added at the end.
func withSection(body, heading, text string) string {
	name := strings.TrimSpace(strings.TrimLeft(heading, "#"))
	lines := strings.Split(body, "\n")
	start, end, rank, fenced := -1, len(lines), 2, false
	for i, l := range lines {
		if strings.HasPrefix(l, "```") || strings.HasPrefix(l, "~~~") {
			fenced = !fenced
		}
		n := len(l) - len(strings.TrimLeft(l, "#"))
		if fenced || n == 0 || n > 6 || len(l) == n || l[n] != ' ' {
			continue
		}
		if start < 0 && strings.EqualFold(strings.TrimSpace(l[n:]), name) {
			start, rank = i, n
		} else if start >= 0 && n <= rank {
			end = i
			break
		}
	}
	text = strings.Trim(text, "\n")
	if start < 0 {
		return strings.TrimRight(body, "\n") + "\n\n## " + name + "\n\n" + text + "\n"
	}
	out := strings.Join(lines[:start+1], "\n") + "\n\n" + text + "\n"
	if end < len(lines) {
		out += "\n" + strings.Join(lines[end:], "\n")
	}
	return out
}

// retitled changes the first heading of body to the new title if it was the old one.
func retitled(body, old, title string) string {
	if rest, ok := strings.CutPrefix(body, "# "+old+"\n"); ok {
		return "# " + title + "\n" + rest
	}
	return body
}

func replaced(list []string, old, now string) []string {
	out := []string{now}
	for _, s := range list {
		if s != old && s != now {
			out = append(out, s)
		}
	}
	return out
}

func set[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

// trimmed returns list without empty and repeated entries.
func trimmed(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		s = strings.TrimSpace(s)
		if s == "" || seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}
