package describe

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// maxHeader is how much of a file is looked at for the comments above its code.
const maxHeader = 16 << 10

// A header is what stands above the code of a file: comments, or the string
// that Python takes for one.
type header struct {
	blocks    [][]string // comments that say something, as their paragraphs
	about     []string   // paragraphs of a comment that goes on with a licence
	generated string     // what a generator says of itself; "" if none did
	from      int        // offset behind the licence, where the file's own words begin
	end       int        // offset behind the last comment
}

// headerOf reads the comments above the code of a file.
func headerOf(s *Subject) header {
	var h header
	if isProse(s.Language) {
		return h
	}
	src := s.Source[:min(len(s.Source), maxHeader)]
	marks := marksOf(s.Language)
	var lines []string
	flush := func(end int) {
		if len(lines) > 0 {
			h.add(s, lines, end)
			lines = lines[:0]
		}
	}
	for at := 0; at < len(src); {
		next := len(src)
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		raw := bytes.TrimPrefix(src[at:next], []byte("\ufeff"))
		line := bytes.TrimSpace(raw)
		if len(line) == 0 || at == 0 && bytes.HasPrefix(line, []byte("#!")) {
			flush(at)
			at = next
			continue
		}
		if open, closing, ok := marks.block(line); ok {
			flush(at)
			from := at + bytes.Index(src[at:next], open) + len(open)
			to, end := len(src), len(src)
			if i := bytes.Index(src[from:], closing); i >= 0 {
				to, end = from+i, from+i+len(closing)
			}
			h.add(s, strings.Split(string(src[from:to]), "\n"), end)
			if at = end; at < len(src) && src[at] == '\n' {
				at++
			}
			continue
		}
		if text, ok := marks.line(raw); ok {
			lines = append(lines, text)
			h.end, at = next, next
			continue
		}
		flush(at)
		if len(h.blocks) > 0 || !mayPrecede(s.Language, line) {
			break
		}
		at = next
	}
	flush(len(src))
	return h
}

// add takes the paragraphs of a comment that ends at end.
func (h *header) add(s *Subject, lines []string, end int) {
	paras, before, licence, generated := paragraphs(lines, path.Base(s.Path))
	if h.about == nil && licence && before > 0 {
		h.about = paras[:before]
	}
	if h.generated == "" {
		h.generated = generated
	}
	if licence {
		h.from = end
	}
	if len(paras) > 0 {
		h.blocks = append(h.blocks, paras)
	}
	h.end = max(h.end, end)
}

// commentMarks are how comments are written in a language.
type commentMarks struct {
	lines  []string
	blocks [][2]string
}

// marksOf returns how a language marks comments.
func marksOf(language string) commentMarks {
	slashes := [][2]string{{"/**", "*/"}, {"/*!", "*/"}, {"/*", "*/"}}
	switch language {
	case "python", "starlark":
		return commentMarks{[]string{"#"}, [][2]string{{`"""`, `"""`}, {"'''", "'''"}, {`r"""`, `"""`}, {`R"""`, `"""`}, {`u"""`, `"""`}, {`"`, `"`}}}
	case "ruby":
		return commentMarks{[]string{"#"}, [][2]string{{"=begin", "=end"}}}
	case "shell", "yaml", "toml", "make", "dockerfile", "perl", "r", "julia", "elixir", "cmake", "nim", "fish", "properties", "graphql", "awk", "tcl", "gitignore":
		return commentMarks{[]string{"#"}, nil}
	case "powershell":
		return commentMarks{[]string{"#"}, [][2]string{{"<#", "#>"}}}
	case "ini":
		return commentMarks{[]string{";", "#"}, nil}
	case "hcl", "nix":
		return commentMarks{[]string{"#", "//"}, slashes}
	case "php":
		return commentMarks{[]string{"//", "#"}, slashes}
	case "sql":
		return commentMarks{[]string{"--", "#"}, slashes}
	case "lua":
		return commentMarks{[]string{"--"}, [][2]string{{"--[[", "]]"}}}
	case "haskell", "elm", "vhd":
		return commentMarks{[]string{"--"}, [][2]string{{"{-", "-}"}}}
	case "erlang", "tex", "latex", "prolog":
		return commentMarks{[]string{"%"}, nil}
	case "clj", "lisp", "scheme":
		return commentMarks{[]string{";"}, nil}
	case "vim":
		return commentMarks{[]string{`"`}, nil}
	case "xml", "svg", "vue", "svelte", "html":
		return commentMarks{nil, [][2]string{{"<!--", "-->"}}}
	case "ocaml":
		return commentMarks{nil, [][2]string{{"(*", "*)"}}}
	case "assembly", "":
		return commentMarks{[]string{"//", "#", ";"}, slashes}
	}
	return commentMarks{[]string{"//"}, slashes}
}

// block reports whether a line opens a comment of several lines, and by what.
func (m commentMarks) block(line []byte) (open, closing []byte, ok bool) {
	for _, b := range m.blocks {
		if bytes.HasPrefix(line, []byte(b[0])) {
			return []byte(b[0]), []byte(b[1]), true
		}
	}
	return nil, nil, false
}

// line returns the text of a comment of one line, indented as it was.
func (m commentMarks) line(raw []byte) (string, bool) {
	t := bytes.TrimLeft(raw, " \t")
	for _, mark := range m.lines {
		rest, ok := bytes.CutPrefix(t, []byte(mark))
		if !ok {
			continue
		}
		if mark == "#" && bytes.HasPrefix(t, []byte("#include")) {
			return "", false
		}
		rest = bytes.TrimLeft(rest, mark[len(mark)-1:]+"!")
		if len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		return string(bytes.TrimRight(rest, "\r\n\t ")), true
	}
	return "", false
}

// mayPrecede reports whether a line of code may stand above the comment in
// which a file speaks of itself.
func mayPrecede(language string, line []byte) bool {
	has := func(list ...string) bool {
		for _, p := range list {
			if bytes.HasPrefix(line, []byte(p)) {
				return true
			}
		}
		return false
	}
	switch language {
	case "c", "cpp", "objc", "objectivec", "cuda":
		return has("#ifndef", "#define", "#pragma", "#include", "#ifdef", "#if ")
	case "javascript", "typescript", "tsx":
		return has("'use ", `"use `)
	case "php":
		return has("<?php", "declare(", "namespace ")
	case "dockerfile":
		return has("ARG ", "FROM ")
	case "rust":
		return has("#![")
	case "yaml", "markdown":
		return has("---", "%")
	case "xml", "svg":
		return has("<?xml", "<!DOCTYPE")
	}
	return false
}

// paragraphs returns the running text of a comment, each paragraph on one line:
// without licences, words to tools, tags, lists, code and drawings. licence
// tells whether there was one, before how many of paras stand above it,
// generated is what a generator wrote.
func paragraphs(lines []string, base string) (paras []string, before int, licence bool, generated string) {
	indent := -1
	for i, l := range lines {
		l = uncomment(l)
		if lines[i] = l; strings.TrimSpace(l) != "" && i > 0 {
			if n := len(l) - len(strings.TrimLeft(l, " \t")); indent < 0 || n < indent {
				indent = n
			}
		}
	}
	var para []string
	skip := false // the rest of this paragraph
	end := func() {
		if len(para) > 0 {
			text := strings.Join(para, " ")
			if isLicence(text) {
				if !licence {
					before = len(paras)
				}
				licence = true
			} else if text = cleanProse(text); text != "" {
				paras = append(paras, text)
			}
		}
		para, skip = para[:0], false
	}
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if i == 0 && strings.HasPrefix(t, "-*-") {
			continue
		}
		if generated == "" && saysGenerated(t) {
			generated, skip = t, true
			continue
		}
		if t == "" || isDrawing(t) {
			end()
			continue
		}
		own := len(l) - len(strings.TrimLeft(l, " \t"))
		deep := i > 0 && len(para) == 0 && (own >= indent+2 || own > indent && l[indent] == '\t')
		if skip || deep && isCodeLike(l[max(indent, 0):]) || isToolLine(t) {
			continue
		}
		if endsProse(t) {
			break
		}
		if isListItem(t) {
			end()
			skip = true
			continue
		}
		if t = headerLine(t, base); t != "" {
			para = append(para, t)
		}
	}
	end()
	return paras, before, licence, generated
}

// uncomment takes the star off a line of a block comment.
func uncomment(l string) string {
	t := strings.TrimLeft(l, " \t")
	if rest, ok := strings.CutPrefix(t, "*"); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '*') {
		return strings.TrimRight(strings.TrimPrefix(strings.TrimLeft(rest, "*"), " "), " \t\r*")
	}
	return strings.TrimRight(l, " \t\r")
}

// isCodeLike reports whether an indented line of a comment is code or a
// listing: Go and Markdown indent those.
func isCodeLike(l string) bool {
	return strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "   ")
}

func isDrawing(t string) bool {
	return strings.Trim(t, "-=*#~_/+|<>.^ \t") == "" || strings.HasPrefix(t, "+--") || strings.HasPrefix(t, "|--")
}

// endsProse reports whether a line begins what is no running text any more:
// parameters, examples, doctests.
func endsProse(t string) bool {
	if t[0] == ':' && len(t) > 2 && t[1] >= 'a' && t[1] <= 'z' && strings.IndexByte(t[1:], ':') > 0 && !strings.Contains(t, "`") {
		return true // :param x:
	}
	for _, p := range [...]string{
		">>>", "@param", "@return", "@throws", "@example", "\\param", "\\return", "Args:", "Arguments:", "Returns:", "Raises:", "Yields:", "Example:", "Examples:",
		"Parameters:", "Usage:", "usage:", "USAGE:", "Usage::", "Attributes:", "Note:", "Notes:", "See also:", "See Also:", "TODO:", "```", ".. ", "$ ", "History:", "Changes:", "Change Log", "Revision History",
	} {
		if strings.HasPrefix(t, p) {
			return true
		}
	}
	return false
}

// isToolLine reports whether a line of a comment speaks to a program.
func isToolLine(t string) bool {
	for _, p := range [...]string{
		"go:", "+build", "nolint", "eslint", "prettier", "@ts-", "ts-", "tslint", "istanbul", "jshint", "jslint", "globals ", "global ", "pylint:", "type:", "noqa", "flake8", "mypy:", "isort:", "fmt:", "ruff:",
		"-*-", "vim:", "vi:", "ex:", "vim ", "Local Variables", "emacs", "clang-format", "NOLINT", "#region", "region ", "sourceMappingURL", "# sourceMappingURL", "<reference", "@flow", "@jsx", "@format", "$Id", "$Header", "$Revision", "$Date", "@(#)",
		"yaml-language-server", "shellcheck", "rubocop", "frozen_string_literal", "encoding:", "coding:", "coding=", "syntax=", "syntax:", "escape=", "use strict", "cspell", "spell-checker", "@jest-environment", "@vitest-environment", "webpack", "biome-", "deno-lint", "swift-tools-version", "phpcs", "@phpstan", "dart format", "ignore_for_file",
	} {
		if strings.HasPrefix(t, p) {
			return true
		}
	}
	return false
}

// headerLine takes off a line what names the file or says who wrote it when;
// "" if nothing is left.
func headerLine(t, base string) string {
	if t[0] == '@' || t[0] == '\\' && len(t) > 1 && t[1] >= 'a' && t[1] <= 'z' {
		tag, rest, _ := strings.Cut(t[1:], " ")
		rest = strings.TrimSpace(rest)
		switch tag {
		case "brief", "file", "fileoverview", "overview", "summary", "module", "description", "desc", "internal", "packageDocumentation", "ingroup", "defgroup", "page", "mainpage":
			if !strings.Contains(rest, " ") && tag != "brief" && tag != "summary" {
				return "" // the name alone
			}
			t = rest
		default:
			return ""
		}
	}
	if rest, ok := cutFold(t, base); ok {
		t = strings.TrimLeft(rest, " \t:-–—.|")
	} else if rest, ok := cutFold(t, strings.TrimSuffix(base, path.Ext(base))); ok && len(rest) > 2 && (strings.HasPrefix(rest, " - ") || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " -- ") || strings.HasPrefix(rest, " — ") || strings.HasPrefix(rest, " – ")) {
		t = strings.TrimLeft(rest, " \t:-–—")
	}
	if strings.EqualFold(path.Base(t), base) && !strings.Contains(t, " ") {
		return "" // its path
	}
	word, rest, found := strings.Cut(t, ":")
	if !found || len(word) > 24 {
		if isByline(t) {
			return ""
		}
		return t
	}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "file", "filename", "file name", "author", "authors", "created", "created by", "created on", "creation date", "date", "version", "since", "maintainer", "maintainers", "email", "e-mail", "project", "contributors", "contributor", "last modified", "modified", "revision", "written by", "contact", "website", "homepage", "url", "status", "language", "package", "module", "updated", "last updated", "source", "id", "see", "todo", "fixme", "xxx", "hack", "nb", "bugs":
		return ""
	case "description", "summary", "purpose", "synopsis", "abstract", "overview", "name", "title":
		return strings.TrimSpace(rest)
	}
	return t
}

// isByline reports whether a line says who wrote the file when.
func isByline(t string) bool {
	low := strings.ToLower(t)
	for _, p := range [...]string{"written by ", "written in ", "author: ", "authored by ", "created by ", "created on ", "originally written by ", "originally by ", "contributed by ", "maintained by ", "by ", "date: ", "last modified", "todo(", "todo ", "fixme", "xxx", "https://", "http://"} {
		if strings.HasPrefix(low, p) {
			return p != "by " || utf8.RuneCountInString(t) < 60
		}
	}
	return false
}

// fileDoc returns up to three sentences in which a file speaks of itself.
func fileDoc(s *Subject, h *header) []string {
	if isProse(s.Language) {
		return sentencesOf(firstParagraph(s.Source, s.Language), 3, 400)
	}
	var paras []string
	switch {
	case s.Doc != "":
		paras = h.from20(s.Doc)
		if paras == nil {
			doc := cleanProse(s.Doc)
			switch {
			case doc != "" && !isNoise(doc) && !isLicence(doc) && !saysGenerated(doc) && headerLine(doc, path.Base(s.Path)) != "":
				paras = []string{doc}
			case len(h.blocks) > 0: // of which it was the by-line
				paras = h.blocks[0]
			}
		}
	case h.about != nil:
		paras = h.about
	case speaksFirst(s) && len(h.blocks) > 0:
		paras = h.blocks[0]
	}
	var out []string
	size := 0
	for i, p := range paras {
		if i == 3 || len(out) == 3 || i > 0 && size > 240 {
			break
		}
		for _, line := range sentencesOf(p, 3-len(out), 420-size) {
			size += utf8.RuneCountInString(line)
			out = append(out, line)
		}
	}
	return out
}

// from20 returns the paragraphs of the comment that begins as doc does, from
// there on; by its first 20 letters, since doc was cut and cleaned by others.
func (h *header) from20(doc string) []string {
	key := letters(doc, 20)
	if key == "" {
		return nil
	}
	for _, paras := range h.blocks {
		for i, p := range paras {
			if letters(p, 20) == key {
				return paras[i:]
			}
		}
	}
	for _, paras := range h.blocks { // the name of the file was taken off
		if tail := letters(paras[0], 12); strings.Contains(letters(doc, 200), tail) {
			return paras
		}
	}
	return nil
}

// letters returns the first n letters and digits of s in lower case.
func letters(s string, n int) string {
	out := make([]byte, 0, n)
	for i := 0; i < len(s) && len(out) < n; i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= utf8.RuneSelf:
			out = append(out, c)
		}
	}
	return string(out)
}

// speaksFirst reports whether the first comment of a file is taken to be about
// the file, although no parser said so: in scripts, settings, and what was not
// parsed.
func speaksFirst(s *Subject) bool {
	switch s.Language {
	case "shell", "yaml", "toml", "make", "dockerfile", "sql", "ini", "cmake", "hcl", "proto", "properties", "css", "scss", "less", "powershell", "graphql", "perl", "starlark", "xml", "ruby", "lua":
		return true
	}
	for _, c := range s.Chunks {
		if c.NodeType != "lines" && c.NodeType != "paragraph" {
			return false
		}
	}
	return len(s.Chunks) > 0
}
