package describe

import (
	"strings"

	"github.com/foldwatch/foldwatch/meta/regex"
)

// isProse reports whether a language is text for people.
func isProse(language string) bool {
	switch language {
	case "markdown", "text", "rst", "asciidoc", "org", "tex", "latex", "html":
		return true
	}
	return false
}

// Patterns of HTML; compiled once, never changed.
var (
	htmlHead = regex.Later(`(?is)<(?:head|script|style|nav)\b.*?</(?:head|script|style|nav)>|<!--.*?-->`)
	htmlEnd  = regex.Later(`(?i)</?(?:p|div|h[1-6]|li|ul|ol|table|tr|section|article|main|header|footer|body)\b[^>]{0,200}>`)
	htmlTag  = regex.Later(`<[^>]{1,200}>`)
)

// firstParagraph returns the first running text, headings, lists, badges and
// frontmatter left out; where the first says little, with the next.
func firstParagraph(src []byte, language string) string {
	text := string(src[:min(len(src), 32<<10)])
	if language == "html" {
		text = htmlTag().ReplaceAllString(htmlEnd().ReplaceAllString(htmlHead().ReplaceAllString(text, " "), "\n\n"), " ")
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if i := frontmatterEnd(text); i > 0 {
		text = text[i:]
	}
	var para []string
	out := ""
	fenced, comment := false, false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
			t = ""
		}
		if strings.HasPrefix(t, "<!--") {
			comment = true
		}
		if comment {
			comment = !strings.Contains(t, "-->")
			t = ""
		}
		under := i+1 < len(lines) && isUnderline(lines[i+1])
		indented := len(para) == 0 && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")) && language != "html"
		if fenced || t == "" || under || indented || isUnderline(t) || isMarkup(t) && (len(para) == 0 || t[0] == '#') {
			if len(para) == 0 {
				continue
			}
			if p := cleanProse(strings.Join(para, " ")); !isLicence(p) && strings.Count(p, " ") > 2 && !isNoise(p) {
				out = strings.TrimSpace(out + " " + p)
			}
			if para = para[:0]; len(out) > 60 {
				break
			}
			continue
		}
		para = append(para, t)
	}
	if out == "" && len(para) > 0 {
		return cleanProse(strings.Join(para, " "))
	}
	return out
}

// frontmatterEnd returns where the text behind a YAML or TOML head begins, 0 if
// there is none.
func frontmatterEnd(text string) int {
	for _, fence := range []string{"---", "+++"} {
		if !strings.HasPrefix(text, fence+"\n") && !strings.HasPrefix(text, fence+"\r\n") {
			continue
		}
		if i := strings.Index(text[3:], "\n"+fence); i >= 0 {
			if j := strings.IndexByte(text[3+i+1:], '\n'); j >= 0 {
				return 3 + i + 1 + j + 1
			}
		}
	}
	return 0
}

// frontmatterTitle returns the title that the head of a text gives, "" if none.
func frontmatterTitle(text string) string {
	head := text[:frontmatterEnd(text)]
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			key, value, ok = strings.Cut(line, "=")
		}
		if ok && strings.EqualFold(strings.TrimSpace(key), "title") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// isMarkup reports whether a line is no running text: a heading, list item,
// table, quote, badge, directive or tag.
func isMarkup(t string) bool {
	switch t[0] {
	case '#', '|', '>', '!', '<', ':', '=', '{':
		return true
	case '.':
		return strings.HasPrefix(t, "..") || len(t) > 1 && t[1] != ' '
	case '[':
		return strings.HasPrefix(t, "[!") || strings.Count(t, " ") <= 4
	case '-', '*', '+':
		return len(t) < 2 || t[1] == ' '
	}
	return isListItem(t)
}

func isUnderline(line string) bool {
	t := strings.TrimSpace(line)
	return len(t) >= 3 && strings.Trim(t, t[:1]) == "" && strings.IndexByte("=-~^*", t[0]) >= 0
}
