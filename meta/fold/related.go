package fold

import (
	"slices"
	"strings"
)

// A blockLink is one line of a `## Related` block.
type blockLink struct {
	id    ID
	typ   LinkType
	title string
	ours  bool // written exactly as we write it; otherwise a person added it
}

// maxBlock is how many lines a block of ours may have: more links than fit into
// a frontmatter cannot have come from one.
const maxBlock = 4096

// splitRelated cuts body, with LF line ends, into the text before our
// `## Related` block and the links of the block. The block is ours if it is
// the last thing in the body, stands below a rule, and each of its lines is a
// list item with one wiki link to an id, after words for its type at most.
// Anything else makes it the human's, and part of the text.
//
// The text ends with exactly one line feed, or is empty.
func splitRelated(body string) (text string, block []blockLink, found bool) {
	code := codeRanges(body)
	for {
		at, more := findRelated(body, code)
		if at < 0 || len(block) > maxBlock {
			slices.Reverse(block)
			return endLine(body), block, found
		}
		body, block, found = body[:at], append(block, more...), true
	}
}

// endLine returns s with exactly one line feed at its end, or "" if it has
// nothing but line ends.
func endLine(s string) string {
	s = strings.TrimRight(s, "\r\n")
	if s == "" {
		return ""
	}
	return s + "\n"
}

// findRelated returns the offset at which our block begins in body (its rule,
// or the blank lines before that) and its links from the last to the first, or
// -1. Code says where the code fences of body are.
func findRelated(body string, code []span) (int, []blockLink) {
	end := len(body)
	var block []blockLink
	heading := false
	for end > 0 {
		line, start := lastLine(body, end)
		text := strings.TrimRight(line, " \t\r")
		switch {
		case text == "":
		case heading:
			if text != "---" || block == nil || inSpans(code, start) {
				return -1, nil
			}
			for start > 0 {
				above, next := lastLine(body, start)
				if strings.Trim(above, "\r") != "" {
					break
				}
				start = next
			}
			return start, block
		case text == "## Related":
			heading = true
		default:
			l, ok := parseRelated(text)
			if !ok || len(block) == maxBlock {
				return -1, nil
			}
			block = append(block, l)
		}
		end = start
	}
	return -1, nil
}

// lastLine returns the line of s that ends at end (a line feed there counts to
// it) and its start.
func lastLine(s string, end int) (string, int) {
	stop := end
	if s[stop-1] == '\n' {
		stop--
	}
	start := strings.LastIndexByte(s[:stop], '\n') + 1
	return s[start:stop], start
}

// codeRanges returns the byte ranges of the fenced lines of body.
func codeRanges(body string) []span {
	if !strings.Contains(body, "```") && !strings.Contains(body, "~~~") {
		return nil
	}
	var f fenceState
	var code []span
	pos := 0
	for line := range strings.SplitAfterSeq(body, "\n") {
		if f.line(strings.TrimRight(line, "\r\n")) {
			if n := len(code); n > 0 && code[n-1].end == pos {
				code[n-1].end += len(line)
			} else {
				code = append(code, span{pos, pos + len(line)})
			}
		}
		pos += len(line)
	}
	return code
}

func inSpans(list []span, pos int) bool {
	i, found := slices.BinarySearchFunc(list, pos, func(s span, pos int) int { return s.start - pos })
	return found || i > 0 && pos < list[i-1].end
}

// openFence reports whether a line put after text would lie in a code fence.
func openFence(text string) bool {
	const probe = "\n---\n"
	return inSpans(codeRanges(text+probe), len(text)+1)
}

// parseRelated reads one line of a block: "- depends on [[9/a/9a8b…|Title]]".
func parseRelated(text string) (blockLink, bool) {
	rest, ok := strings.CutPrefix(text, "- ")
	if !ok {
		if rest, ok = strings.CutPrefix(text, "* "); !ok {
			return blockLink{}, false
		}
	}
	open := strings.Index(rest, "[[")
	if open < 0 || strings.Index(rest, "]]") != len(rest)-2 || strings.ContainsAny(rest, "`\\!") || strings.Contains(rest[open+2:], "[[") {
		return blockLink{}, false
	}
	l, ok := parseWiki(rest, open, len(rest))
	if !ok {
		return blockLink{}, false
	}
	id, ok := targetID(l.Target)
	words := rest[:l.Start]
	if !ok || !typeWords(words) {
		return blockLink{}, false
	}
	b := blockLink{id: id, typ: LinkRelated, title: l.Alias}
	if w := strings.Fields(words); len(w) > 0 {
		b.typ = LinkType(strings.Join(w, "_"))
	}
	if text[0] == '-' && rest[open+2] == id[0] && strings.Contains(rest, string(id)) { // else it cannot be
		b.ours = text == relatedLine(b.typ, id, l.Alias)
	}
	return b, true
}

// typeWords reports whether s, which stands before a link, is nothing but
// words that name a type.
func typeWords(s string) bool {
	if s == "" {
		return true
	}
	return strings.HasSuffix(s, " ") && !strings.ContainsAny(s, "[]`|#*_:.,;!?()<>") && len(s) <= 64
}

// relatedLine returns one line of a block as we write it.
func relatedLine(typ LinkType, id ID, title string) string {
	if typ == LinkRelated {
		return "- " + LinkTarget(id, title)
	}
	words := strings.Join(strings.Split(string(typ), "_"), " ") + " "
	if !typeWords(words) {
		words = "" // the frontmatter says it
	}
	return "- " + words + LinkTarget(id, title)
}

// relatedBlock returns the block of links, from the blank line before its rule
// to the end of the file; "" without links.
func relatedBlock(links []Link, title func(ID) string) string {
	if len(links) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n---\n\n## Related\n\n")
	for _, l := range links {
		name := ""
		if title != nil {
			name = title(l.To)
		}
		b.WriteString(relatedLine(l.Type, l.To, name))
		b.WriteByte('\n')
	}
	return b.String()
}

// humanRelated reports whether text, from which our block is cut, ends with a
// `## Related` section of a person's own: then there is no place for ours.
func humanRelated(text string) bool {
	var f fenceState
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		if !f.line(line) && (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")) {
			last = strings.TrimSpace(line)
		}
	}
	return strings.EqualFold(last, "## Related")
}
