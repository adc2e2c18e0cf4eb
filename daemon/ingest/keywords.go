package ingest

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// rarities holds wordRarity by word; made at first use and never changed.
var rarities = sync.OnceValue(func() map[string]float64 {
	m := make(map[string]float64, 1500)
	for i, words := range wordRarity {
		for w := range strings.FieldsSeq(words) {
			m[w] = float64(i + 1)
		}
	}
	return m
})

// rarity returns log2 of how many files there are for one that holds the word.
func rarity(word string) float64 {
	if r, ok := rarities()[word]; ok {
		return r
	}
	if one := singular(word); one != word {
		if r, ok := rarities()[one]; ok {
			return r + 0.5
		}
	}
	return float64(len(wordRarity)) + 2
}

// keywordsOf returns the words by which a file is looked for: the names others
// know it by, then the words that are frequent in it and rare elsewhere.
func keywordsOf(s *Subject, parts []component) []string {
	var out []string
	seen := map[string]bool{}
	add := func(w string) {
		key := strings.ToLower(w)
		if w != "" && !seen[key] && len(out) < maxKeywords {
			seen[key] = true
			out = append(out, w)
		}
	}
	names := 0
	if !isProse(s.Language) && !isData(s.Language) {
		key := squash(stem(s.Path))
		sorted := slices.Clone(parts)
		slices.SortStableFunc(sorted, func(a, b component) int { return cmp.Compare(b.weight(key), a.weight(key)) })
		for _, p := range sorted {
			if names == 7 {
				break
			}
			if len(p.name) >= 3 && len(p.name) <= 40 && (p.open || len(parts) < 8) && !strings.ContainsAny(p.name, " `") {
				add(p.name)
				names++
			}
		}
	}
	for _, w := range rareWords(s, parts) {
		add(w)
	}
	return out
}

// rareWords returns the words of a file that tell it from others, best first.
func rareWords(s *Subject, parts []component) []string {
	count := map[string]float64{}
	weigh := func(text string, weight float64) {
		eachWord(text, func(w string) {
			count[w] += weight
		})
	}
	weigh(string(s.Source[:min(len(s.Source), 256<<10)]), 1)
	weigh(strings.TrimSuffix(s.Path, path.Ext(s.Path)), 4)
	weigh(s.Doc, 3)
	for _, p := range parts {
		weigh(p.name+" "+strings.Join(p.members, " "), 4)
		weigh(p.doc, 1)
	}
	type scored struct {
		word  string
		score float64
	}
	var all []scored
	for w, n := range count {
		if r := rarity(w); n >= 2 && r >= 3 && !isStop(w) {
			all = append(all, scored{w, (1 + math.Log2(n)) * (r - 1)})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.word, b.word))
	})
	var out []string
	taken := map[string]bool{}
	for _, a := range all {
		if root := singular(a.word); !taken[root] {
			taken[root] = true
			out = append(out, a.word)
		}
		if len(out) == maxKeywords {
			break
		}
	}
	return out
}

// eachWord calls f with the words of text in lower case: identifiers are split
// at case changes and underscores; words of 3 to 24 letters count.
func eachWord(text string, f func(string)) {
	start := -1
	upper := 0 // length of the run of capitals that ends here
	emit := func(end int) {
		if start >= 0 && end-start >= 3 && end-start <= 24*utf8.UTFMax {
			if w := strings.ToLower(text[start:end]); !oneLetter(w) {
				f(w)
			}
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unicode.IsUpper(r):
			if upper == 0 {
				emit(i)
			}
			if start < 0 {
				start = i
			}
			upper++
		case unicode.IsLetter(r):
			if upper > 1 { // HTTPServer: the last capital begins the word
				last := i - 1
				for last > 0 && !utf8.RuneStart(text[last]) {
					last--
				}
				emit(last)
				start = last
			}
			if start < 0 {
				start = i
			}
			upper = 0
		default:
			emit(i)
			upper = 0
		}
	}
	emit(len(text))
}

func oneLetter(w string) bool { return strings.Trim(w, w[:1]) == "" }

// singular takes the plural off an English word, roughly.
func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 5:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") && len(w) > 3:
		return w[:len(w)-1]
	}
	return w
}

// isStop reports whether a word says nothing about code.
func isStop(w string) bool {
	switch w {
	case "http", "https", "www", "com", "org", "foo", "bar", "baz", "todo", "fixme", "xxx", "lorem", "ipsum", "tmp", "chan", "goto", "iota", "struct", "resp", "req", "ctx", "args", "argv", "ptr", "idx", "len", "buf", "fmt", "elem", "elems", "unlock", "impl", "enum", "async", "await", "extern", "sizeof", "uintptr", "endif", "ifdef", "ifndef", "isinstance", "kwargs", "varargs", "dst", "src", "got", "want", "func", "const", "var", "int", "str", "err", "nil", "def", "elif",
		"authors", "bsd", "copyright", "license", "licence", "rights", "reserved", "governed", "style", "would", "could", "should", "must", "may", "might", "also", "because", "therefore", "however", "whether", "although", "thus", "since", "until", "always", "never", "already", "usually", "otherwise", "instead", "these", "those", "them", "they", "their", "there", "which", "where", "while", "what", "here", "other", "such", "many", "much", "more", "most", "only", "very", "just", "even", "still", "both", "each", "every", "either", "neither", "another", "several", "been", "being", "does", "doing", "done", "having", "made", "makes", "making", "into", "onto", "upon", "over", "under", "between", "within", "without", "before", "after", "again", "about", "above", "below", "then", "than", "too", "out", "off", "own", "same", "per", "via", "doesn", "isn", "don", "won", "can", "cannot", "aren", "wasn", "didn", "hasn", "couldn", "shouldn", "let", "lets", "something", "anything", "nothing", "everything", "someone", "likewise", "namely":
		return true
	}
	return false
}

// tagsOf returns at most six words that sort files: what the folders and
// imports say, the language, and what kind of file it is.
func tagsOf(s *Subject, test bool) []string {
	var out []string
	add := func(t string) {
		if t = strings.Trim(t, "-"); t != "" && len(t) >= 2 && len(t) <= 24 && len(out) < maxTags && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if s.Language != "" {
		add(s.Language)
	}
	switch {
	case test:
		add("test")
	case isProse(s.Language):
		add("docs")
	case isData(s.Language):
		add("config")
	}
	// The nearest folder says most.
	dirs := strings.Split(path.Dir(s.Path), "/")
	slices.Reverse(dirs)
	for _, d := range dirs[:min(len(dirs), 4)] {
		if d = strings.ToLower(d); isTagFolder(s.Language, d) {
			add(strings.Map(func(r rune) rune {
				if unicode.IsLetter(r) || unicode.IsDigit(r) {
					return r
				}
				return '-'
			}, d))
		}
		if len(out) == 4 {
			break
		}
	}
	for _, raw := range s.Imports {
		for _, spec := range importSpecs(s.Language, raw) {
			add(topicOf(spec))
		}
	}
	return out
}

// isTagFolder reports whether a folder's name says something about what is in
// it.
func isTagFolder(language, d string) bool {
	switch d {
	case "com", "org", "net", "io": // the head of a Java package
		return language != "java" && language != "kotlin" && language != "scala" && d != "com" && d != "org"
	case "", ".", "src", "lib", "libs", "internal", "pkg", "cmd", "app", "apps", "main", "java", "kotlin", "scala", "dist", "build", "source", "sources", "include", "includes", "packages", "modules", "crates", "common", "core", "util", "utils", "helpers", "misc", "test", "tests", "__tests__", "testdata", "spec", "docs", "doc", "vendor":
		return false
	}
	return !strings.HasPrefix(d, ".") && !strings.HasPrefix(d, "@")
}

// topicOf returns the subject that importing a well-known module stands for.
func topicOf(spec string) string {
	spec = strings.ToLower(spec)
	topics := []struct{ tag, mark string }{
		{"http", "net/http"},
		{"http", "express"},
		{"http", "axum"},
		{"http", "fastapi"},
		{"http", "flask"},
		{"http", "aiohttp"},
		{"http", "hyper"},
		{"http", "gin-gonic"},
		{"sql", "database/sql"},
		{"sql", "sqlite"},
		{"sql", "postgres"},
		{"sql", "sqlalchemy"},
		{"sql", "sqlx"},
		{"sql", "java.sql"},
		{"sql", "mysql"},
		{"crypto", "crypto"},
		{"json", "json"},
		{"yaml", "yaml"},
		{"xml", "/xml"},
		{"regexp", "regex"},
		{"grpc", "grpc"},
		{"graphql", "graphql"},
		{"react", "react"},
		{"vue", "vue"},
		{"svelte", "svelte"},
		{"angular", "@angular"},
		{"testing", "testing"},
		{"cli", "cobra"},
		{"cli", "clap"},
		{"cli", "argparse"},
		{"cli", "commander"},
		{"async", "tokio"},
		{"async", "asyncio"},
		{"concurrency", "sync"},
		{"logging", "slog"},
		{"logging", "logging"},
		{"filesystem", "io/fs"},
		{"filesystem", "path/filepath"},
		{"git", "go-git"},
		{"redis", "redis"},
		{"kafka", "kafka"},
		{"docker", "docker"},
		{"kubernetes", "k8s.io"},
		{"numpy", "numpy"},
		{"pandas", "pandas"},
		{"pytorch", "torch"},
		{"websocket", "websocket"},
		{"template", "template"},
		{"compression", "compress"},
	}
	for _, t := range topics {
		at := strings.Index(spec, t.mark)
		if at < 0 {
			continue
		}
		if end := at + len(t.mark); (at == 0 || !isLetter(spec[at-1])) && (end == len(spec) || !isLetter(spec[end])) {
			return t.tag
		}
	}
	return ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

// Keywords returns at most 15 words that tell a text from others, best first.
func Keywords(text string) []string {
	return rareWords(&Subject{Source: []byte(text)}, nil)
}
