package chunker

import (
	"bytes"
	"path"
	"strings"
)

// Language returns the name of the language of the file at filePath, lower case
// and as one word: go, typescript, tsx, cpp, markdown, html, text, …. Head is
// the file or its beginning; it decides where the name does not (.h files,
// scripts). It returns "" if the language is not known: then the file is cut by
// lines.
func Language(filePath string, head []byte) string {
	base := strings.ToLower(path.Base(strings.ReplaceAll(filePath, `\`, "/")))
	if lang := languageOfBase[base]; lang != "" {
		return lang
	}
	if strings.HasPrefix(base, "dockerfile.") || strings.HasPrefix(base, "containerfile.") {
		return "dockerfile" // Dockerfile.dev
	}
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if ext == "h" {
		return headerLanguage(head)
	}
	if lang := languageOfExt[ext]; lang != "" {
		return lang
	}
	return scriptLanguage(head)
}

// LanguageCalled returns the name by which [Language] knows the language that a
// person calls word: by that name, by the ending or the name of its files, or by
// its interpreter (ts, .yml, Makefile, bash, C#); in any case. It returns word as
// it is, and false, if no language is called so.
func LanguageCalled(word string) (name string, known bool) {
	w := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(word)), ".")
	for _, l := range languages {
		if l.name == w {
			return w, true
		}
	}
	switch w {
	case "golang":
		return "go", true
	case "c#":
		return "csharp", true
	case "terraform":
		return "hcl", true
	case "h":
		return "c", true
	}
	for _, by := range []map[string]string{languageOfExt, languageOfScript, languageOfBase} {
		if name := by[w]; name != "" {
			return name, true
		}
	}
	return word, false
}

// headerLanguage tells C from C++ by words that occur in no C header.
func headerLanguage(head []byte) string {
	head = head[:min(len(head), 64<<10)]
	for _, word := range [...]string{"namespace ", "template <", "template<", "\nclass ", "public:", "private:", "std::", "virtual ", "constexpr ", "nullptr", "operator=="} {
		// extern "C" guards are what C headers say to C++ compilers, so none
		// of these words may be one that stands beside them.
		if bytes.Contains(head, []byte(word)) {
			return "cpp"
		}
	}
	return "c"
}

// scriptLanguage reads the first line of a script.
func scriptLanguage(head []byte) string {
	if !bytes.HasPrefix(head, []byte("#!")) {
		return ""
	}
	line, _, _ := bytes.Cut(head[:min(len(head), 256)], []byte{'\n'})
	for word := range strings.FieldsSeq(strings.TrimPrefix(string(line), "#!")) {
		if lang := languageOfScript[strings.TrimRight(path.Base(word), "0123456789.")]; lang != "" {
			return lang
		}
	}
	return ""
}
