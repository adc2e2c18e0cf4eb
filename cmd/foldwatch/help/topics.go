package help

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.md
var files embed.FS

// A Topic is one subject of the manual, for `foldwatch help NAME`.
type Topic struct {
	Name  string // such as "searching"
	Title string
	Text  string // markdown, with the title as its first heading
}

// Topics returns all topics, sorted by name.
func Topics() []Topic {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	topics := make([]Topic, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // Glob has just listed it
		}
		title, _, _ := strings.Cut(string(text), "\n")
		topics = append(topics, Topic{strings.TrimSuffix(name, ".md"), strings.TrimPrefix(title, "# "), string(text)})
	}
	return topics
}
