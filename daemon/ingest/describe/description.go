package describe

import "strings"

// A description is what the parts of the text are made from.
type description struct {
	s      *Subject
	header header   // what stands above the code
	doc    []string // sentences in which the file speaks of itself
	test   bool
	parts  []component
	ranked []component // parts, what matters most first
	checks []string    // what a test file tests, in words
	deps   []dependency
	set    settings // what a file of settings says of itself
}

// A dependency is one import of the file.
type dependency struct {
	name     string // as it is shown
	path     string // file of the same tree; "" if it is from elsewhere
	standard bool   // comes with the language
}

// caption says what kind of file it is: "A Go file of package auth".
func (d *description) caption() string {
	s := d.s
	what := "A file"
	if name := languageName(s.Language); name != "" {
		word := " file"
		if isHeader(s.Path) {
			word = " header"
		}
		a := article(name)
		what = strings.ToUpper(a[:1]) + a[1:] + " " + name + word
	}
	if s.Package != "" && !isData(s.Language) {
		what += " of package " + s.Package
	}
	return what
}
