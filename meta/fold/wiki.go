package fold

import (
	"strings"
	"unicode"
)

// A WikiLink is one [[…]] of a body, with its place in bytes.
type WikiLink struct {
	Target  string // file, path, id or title, as written; "" for a link within the same note
	Heading string // after #
	Block   string // after #^
	Alias   string // after |
	Embed   bool   // ![[…]]

	Start, End int // [Start, End) in the body, the ! of an embed included
	target     int // start of the written target
	targetEnd  int
}

// WikiLinks returns the wiki links of body in their order, in every form
// Obsidian knows. Those inside code fences and inline code are none. It takes
// time linear in len(body).
func WikiLinks(body string) []WikiLink {
	if !strings.Contains(body, "[[") {
		return nil
	}
	var links []WikiLink
	eachProse(body, func(start, end int) {
		links = proseLinks(links, body, start, end)
	})
	return links
}

// eachProse calls fn with the spans of body that are paragraphs: outside code
// fences, cut at blank lines.
func eachProse(body string, fn func(start, end int)) {
	var f fenceState
	open := 0
	for pos := 0; pos < len(body); {
		end, next := len(body), len(body)
		if i := strings.IndexByte(body[pos:], '\n'); i >= 0 {
			end, next = pos+i, pos+i+1
		}
		line := strings.TrimSuffix(body[pos:end], "\r")
		if code := f.line(line); code || isBlank(line) {
			if open < pos {
				fn(open, pos)
			}
			open = next
		}
		pos = next
	}
	if open < len(body) {
		fn(open, len(body))
	}
}

// proseLinks appends the links of the paragraph [start, end) of body.
func proseLinks(links []WikiLink, body string, start, end int) []WikiLink {
	p := body[start:end]
	if !strings.Contains(p, "[[") {
		return links
	}
	code := codeSpans(p)
	open := -1 // where the innermost [[ of this line begins
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case len(code) > 0 && code[0].start <= i:
			if code[0].end > i {
				i, open = code[0].end, -1
			}
			code = code[1:]
		case c == '\\' && i+1 < len(p) && p[i+1] != '\n' && p[i+1] != '|' && p[i+1] != ']':
			i += 2
		case c == '\n':
			open = -1
			i++
		case c == '[' && strings.HasPrefix(p[i:], "[["):
			open = i
			i++
			for i+1 < len(p) && p[i+1] == '[' { // of [[[ the last two open
				open = i
				i++
			}
			i++
		case c == ']' && open >= 0 && strings.HasPrefix(p[i:], "]]"):
			if l, ok := parseWiki(p, open, i+2); ok {
				l.Start, l.End = l.Start+start, l.End+start
				l.target, l.targetEnd = l.target+start, l.targetEnd+start
				links = append(links, l)
			}
			open = -1
			i += 2
		default:
			i++
		}
	}
	return links
}

// parseWiki reads the link p[open:end].
func parseWiki(p string, open, end int) (WikiLink, bool) {
	l := WikiLink{Start: open, End: end}
	if open > 0 && p[open-1] == '!' && (open < 2 || p[open-2] != '\\') {
		l.Embed = true
		l.Start--
	}
	from := open + 2
	inner := p[from : end-2]
	if bar := strings.IndexByte(inner, '|'); bar >= 0 {
		l.Alias = strings.TrimSpace(inner[bar+1:])
		inner = strings.TrimSuffix(inner[:bar], `\`) // escaped in a table
	}
	if hash := strings.IndexByte(inner, '#'); hash >= 0 {
		anchor := strings.TrimSpace(inner[hash+1:])
		if i := strings.LastIndex(anchor, "^"); i == 0 || i > 0 && anchor[i-1] == '#' {
			l.Block = strings.TrimSpace(anchor[i+1:])
			anchor = strings.TrimSuffix(anchor[:i], "#")
		}
		l.Heading = strings.TrimSpace(anchor)
		inner = inner[:hash]
	}
	l.Target = strings.TrimSpace(inner)
	l.target = from + strings.Index(inner, l.Target)
	l.targetEnd = l.target + len(l.Target)
	return l, l.Target != "" || l.Heading != "" || l.Block != ""
}

type span struct{ start, end int }

// codeSpans returns the inline code of a paragraph: a run of backticks up to
// the next run of the same length.
func codeSpans(p string) []span {
	if strings.IndexByte(p, '`') < 0 {
		return nil
	}
	var runs []span
	byLength := map[int][]int{} // length of a run → indexes into runs
	for i := 0; i < len(p); i++ {
		if p[i] != '`' {
			continue
		}
		j := i
		for j < len(p) && p[j] == '`' {
			j++
		}
		byLength[j-i] = append(byLength[j-i], len(runs))
		runs = append(runs, span{i, j})
		i = j - 1
	}
	var spans []span
	for k := 0; k < len(runs); {
		r := runs[k]
		n := r.end - r.start
		if r.start > 0 && p[r.start-1] == '\\' && !escapedAt(p, r.start-1) {
			// An escaped backtick opens nothing; the rest of its run does.
			if n--; n == 0 {
				k++
				continue
			}
		}
		same := byLength[n]
		for len(same) > 0 && same[0] <= k {
			same = same[1:]
		}
		byLength[n] = same
		if len(same) == 0 {
			k++
			continue
		}
		spans = append(spans, span{r.end - n, runs[same[0]].end})
		k = same[0] + 1
	}
	return spans
}

// escapedAt reports whether the byte at i is itself escaped by a backslash.
func escapedAt(p string, i int) bool {
	n := 0
	for i-n-1 >= 0 && p[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// LinkTarget returns the wiki link to the memory id as we write it:
// "[[f/0/f0123456789abcde|Title]]", or without a title if title is "".
func LinkTarget(id ID, title string) string {
	place := "[[" + string(id[:1]) + "/" + string(id[1:2]) + "/" + string(id)
	title = aliasText(title)
	if title == "" {
		return place + "]]"
	}
	return place + "|" + title + "]]"
}

// aliasText returns title without what would end an alias or a link.
func aliasText(title string) string {
	if strings.ContainsFunc(title, func(r rune) bool { return printable(r) < 0 || r > 0x7f && unicode.IsSpace(r) }) || strings.Contains(title, "  ") || strings.TrimSpace(title) != title {
		title = strings.Map(printable, strings.Join(strings.Fields(title), " "))
		title = strings.Join(strings.Fields(title), " ")
	}
	if strings.Contains(title, "[[") || strings.Contains(title, "]]") || strings.HasSuffix(title, "]") {
		title = strings.NewReplacer("[", "(", "]", ")").Replace(title)
	}
	if strings.ContainsAny(title, "|`\\!") {
		title = strings.NewReplacer("|", "-", "`", "'", `\`, "/").Replace(title)
	}
	return title
}

// targetID returns the id a link target names by itself: 16 hex digits in any
// case, or the path of a file of ours, with or without fold/ and .md.
func targetID(target string) (ID, bool) {
	t := strings.TrimSpace(target)
	t = strings.TrimPrefix(t, "./")
	t = strings.TrimPrefix(t, "/")
	if len(t) >= 5 && strings.EqualFold(t[:5], "fold/") {
		t = t[5:]
	}
	if n := len(t); n > 3 && strings.EqualFold(t[n-3:], ".md") {
		t = t[:n-3]
	}
	if len(t) == 20 && t[1] == '/' && t[3] == '/' {
		if t[0]|0x20 != t[4]|0x20 || t[2]|0x20 != t[5]|0x20 {
			return "", false
		}
		t = t[4:]
	}
	if len(t) != 16 {
		return "", false
	}
	id, err := ParseID(t)
	return id, err == nil
}

// RewriteLinks returns body with the targets of its wiki links replaced where
// rename says so. Heading, block and alias stay; a link that had no alias and
// is no embed gets its old text as one, so that the page reads as before.
func RewriteLinks(body string, rename func(target string) (string, bool)) string {
	var out strings.Builder
	done := 0
	for _, l := range WikiLinks(body) {
		if l.Target == "" {
			continue
		}
		to, ok := rename(l.Target)
		if !ok {
			continue
		}
		out.WriteString(body[done:l.target])
		out.WriteString(to)
		done = l.targetEnd
		if l.Alias == "" && !l.Embed && !strings.Contains(to, "|") && !strings.Contains(body[done:l.End], "|") {
			out.WriteString(body[done : l.End-2])
			if inTable(body, l.Start) {
				out.WriteByte('\\')
			}
			out.WriteString("|" + strings.TrimSpace(body[l.target:l.End-2]))
			done = l.End - 2
		}
	}
	out.WriteString(body[done:])
	return out.String()
}

// inTable reports whether the line around pos is a row of a table, where the
// bar of an alias must be escaped.
func inTable(body string, pos int) bool {
	line := body[strings.LastIndexByte(body[:pos], '\n')+1:]
	line, _, _ = strings.Cut(line, "\n")
	rest, _ := unquote(line)
	return strings.HasPrefix(rest, "|")
}
