package chunker

import "bytes"

const (
	headSize = 8 << 10  // bytes looked at to tell text from binary
	maxLine  = 20 << 10 // bytes; a longer line is no source text that a person wrote

	// maxData is the size in bytes up to which JSON and YAML are parsed. What
	// is longer was written by a program and is read by none but programs, and
	// its tree takes up to a hundred times its size: 255 KB of YAML 26 MB.
	maxData = 256 << 10

	// maxYAML is the nesting up to which YAML is parsed: the scanner of
	// tree-sitter-yaml v0.7.2 writes past its buffer at 254 levels, and an
	// assertion ends the process.
	maxYAML = 200
)

// IsBinary reports whether src is no text: a NUL in its first 8 KiB. Such files
// are not to be indexed; Cut would cut them by lines.
func IsBinary(src []byte) bool {
	return bytes.IndexByte(src[:min(len(src), headSize)], 0) >= 0
}

// parses reports whether src is to be handed to a parser.
func parses(lang string, src []byte, maxBytes int) bool {
	if isData(lang) {
		maxBytes = min(maxBytes, maxData)
	}
	return hasSyntax[lang] && len(src) > 0 && len(src) <= maxBytes && !IsBinary(src) && longestLine(src) <= maxLine &&
		(lang != "yaml" || yamlNesting(src) <= maxYAML)
}

// yamlNesting returns how deep blocks lie in one another, at most: each begins
// further to the right than the one it lies in, or behind an indicator.
func yamlNesting(src []byte) int {
	deepest := 0
	for len(src) > 0 {
		line, rest, _ := bytes.Cut(src, []byte{'\n'})
		src = rest
		text := bytes.TrimLeft(line, " \t-?:")
		depth := len(line) - len(text)
		for _, mark := range [...]string{"- ", "? ", ": "} {
			depth += bytes.Count(text, []byte(mark))
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// isData reports whether files of a language may be nothing but data, of which
// there may be a lot: beyond maxData they are cut by lines.
func isData(lang string) bool { return lang == "json" || lang == "yaml" }

func longestLine(src []byte) int {
	longest := 0
	for len(src) > longest {
		i := bytes.IndexByte(src, '\n')
		if i < 0 {
			return max(longest, len(src))
		}
		longest = max(longest, i)
		src = src[i+1:]
	}
	return longest
}
