package source

import "strings"

const maxDoc = 200 // bytes of a doc sentence

// CommentDoc returns the first sentence of what a comment or a docstring says.
func CommentDoc(comment string) string { return Sentence(commentText(comment)) }

// Sentence returns the first sentence of text, which is one line, in at most
// maxDoc bytes.
func Sentence(text string) string {
	text = strings.ToValidUTF8(text, "�")
	for i := 0; i < len(text); i++ {
		if c := text[i]; (c == '.' || c == '!' || c == '?') && (i+1 == len(text) || text[i+1] == ' ') && !abbreviation(text[:i+1]) {
			text = text[:i+1]
			break
		}
	}
	if len(text) > maxDoc {
		text = strings.TrimSpace(Truncate(text, maxDoc-len("…"))) + "…"
	}
	return text
}

// abbreviation reports whether the full stop that ends text ends no sentence.
func abbreviation(text string) bool {
	word := text[strings.LastIndexAny(text, " (")+1:]
	switch strings.ToLower(word) {
	case "e.g.", "i.e.", "etc.", "vs.", "cf.", "no.", "st.", "mr.", "dr.", "fig.", "sec.", "approx.":
		return true
	}
	return len(word) == 2 && word[0] >= 'A' && word[0] <= 'Z' // an initial
}

// commentText returns the words of the first paragraph of a comment as one
// line: without comment marks, tags such as @param, and directives.
func commentText(comment string) string {
	var words []string
	for line := range strings.Lines(comment) {
		line = xmlText(bare(line))
		if isDirective(line) {
			continue
		}
		if line == "" || strings.Trim(line, "-=*#~_/") == "" {
			if len(words) > 0 {
				break
			}
			continue
		}
		if line[0] == '@' || line[0] == '\\' && len(line) > 1 && line[1] >= 'a' && line[1] <= 'z' {
			tag, rest, _ := strings.Cut(line[1:], " ")
			switch tag {
			case "brief", "file", "fileoverview", "overview", "summary", "module", "description":
				line = strings.TrimSpace(rest)
			default:
				if len(words) > 0 {
					return strings.Join(words, " ")
				}
				continue
			}
		}
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}

// xmlText returns the words of a line of a comment as .NET has them: of a
// <summary>, without its tags. What has tags of its own is like a @param.
func xmlText(line string) string {
	if !strings.Contains(line, "<") {
		return line
	}
	line = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, "<summary>"), "</summary>"))
	for _, tag := range [...]string{"<remarks", "<param", "<typeparam", "<returns", "<exception", "<example", "<value", "<inheritdoc", "<seealso"} {
		if strings.HasPrefix(line, tag) {
			return "@" + tag[1:]
		}
	}
	for _, tag := range [...]string{"<see cref=\"", "<paramref name=\"", "<see langword=\"", "<typeparamref name=\""} {
		for {
			before, rest, ok := strings.Cut(line, tag)
			if !ok {
				break
			}
			name, after, _ := strings.Cut(rest, "\"")
			if len(name) > 2 && name[1] == ':' {
				name = name[2:] // T:Some.Type
			}
			_, after, _ = strings.Cut(after, ">")
			line = before + name + after
		}
	}
	return line
}

// bare strips the marks that make a line a comment.
func bare(line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range [...]string{"/**", "/*!", "/*", "///", "//!", "//", "\"\"\"", "'''", "#!", "##", "#?", "#", "--[[", "---", "--", "=begin", "=end"} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			line = rest
			if mark == "//" && isDirective(rest) {
				return rest
			}
			break
		}
	}
	for _, mark := range [...]string{"*/", "\"\"\"", "'''", "]]"} {
		line = strings.TrimSuffix(line, mark)
	}
	line = strings.TrimSpace(line)
	if line == "*" {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "* "), "*\t"))
}

// isDirective reports whether a comment line speaks to a tool.
func isDirective(line string) bool {
	for _, p := range [...]string{
		"go:", "+build", "nolint", "export ", "eslint", "prettier-ignore", "@ts-", "ts-", "tslint", "istanbul", "jshint",
		"pylint:", "type:", "noqa", "flake8", "mypy:", "-*-", "vim:", "clang-format", "NOLINT", "line ", "#region", "region ", "sourceMappingURL", "<reference",
		"frozen_string_literal:", "encoding: ", "coding: ", "typed: ", "rubocop:", "shellcheck ", "luacheck:", "phpcs:", "phpstan-", "ktlint-", "scalafmt:", "scalastyle:", "ReSharper ", "zig fmt:",
	} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}
