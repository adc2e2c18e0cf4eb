package describe

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
)

// settings is what a file of settings or a well-known file says of itself.
type settings struct {
	title   string
	summary string
	parts   []component
	outside []string // packages it names
}

// settingsOf reads the few files whose meaning is worth more than their keys.
// Values other than names and descriptions are never taken: they may be secrets.
func settingsOf(s *Subject) settings {
	base := strings.ToLower(path.Base(s.Path))
	src := s.Source[:min(len(s.Source), 256<<10)]
	switch {
	case base == "package.json" || base == "composer.json":
		return manifestJSON(s, src, base)
	case base == "go.mod":
		return goModFile(src)
	case base == "cargo.toml" || base == "pyproject.toml":
		return manifestTOML(s, src, base)
	case base == "dockerfile" || strings.HasPrefix(base, "dockerfile.") || strings.HasSuffix(base, ".dockerfile") || base == "containerfile":
		return dockerFile(s, src)
	case strings.Contains("/"+s.Path, "/.github/workflows/") && (strings.HasSuffix(base, ".yml") || strings.HasSuffix(base, ".yaml")):
		return workflow(s, src)
	case strings.HasPrefix(base, "docker-compose") || strings.HasPrefix(base, "compose.y"):
		return compose(s, src)
	case strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt"):
		return requirements(s, src)
	case isLicenceFile(base):
		return licenceFile(s, src)
	}
	if what := wellKnown(base); what != "" {
		return settings{title: upperFirst(what) + " (" + tailPath(s.Path) + ")", summary: upperFirst(what) + "."}
	}
	return settings{}
}

// wellKnown says what a file is for that is known by its name alone.
func wellKnown(base string) string {
	switch base {
	case ".gitignore", ".hgignore":
		return "what version control leaves out"
	case ".dockerignore":
		return "what is left out of Docker images"
	case ".npmignore":
		return "what is left out of the npm package"
	case ".gitattributes":
		return "how git treats the files of this folder"
	case ".gitmodules":
		return "the repositories that git embeds here"
	case ".editorconfig":
		return "how editors indent and end lines here"
	case "codeowners":
		return "who reviews which files"
	case "go.sum":
		return "checksums of the Go modules in use"
	case "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock":
		return "exact versions of the npm packages in use"
	case "cargo.lock":
		return "exact versions of the crates in use"
	case "poetry.lock", "uv.lock", "pipfile.lock":
		return "exact versions of the Python packages in use"
	case "composer.lock":
		return "exact versions of the PHP packages in use"
	case "gemfile.lock":
		return "exact versions of the gems in use"
	case "py.typed":
		return "marks the package as one with type hints"
	}
	return ""
}

// manifest is what package.json and composer.json have in common.
type manifest struct {
	Name         string                     `json:"name"`
	Description  string                     `json:"description"`
	Scripts      map[string]json.RawMessage `json:"scripts"`
	Dependencies map[string]json.RawMessage `json:"dependencies"`
	Dev          map[string]json.RawMessage `json:"devDependencies"`
	Peer         map[string]json.RawMessage `json:"peerDependencies"`
	Require      map[string]json.RawMessage `json:"require"`
	RequireDev   map[string]json.RawMessage `json:"require-dev"`
}

func manifestJSON(s *Subject, src []byte, base string) settings {
	var m manifest
	if json.Unmarshal(src, &m) != nil {
		return settings{}
	}
	what := "npm package"
	if base == "composer.json" {
		what = "PHP package"
	}
	deps, dev := keysOf(m.Dependencies, m.Peer, m.Require), keysOf(m.Dev, m.RequireDev)
	deps = slices.DeleteFunc(deps, func(n string) bool { return n == "php" || strings.HasPrefix(n, "ext-") })
	dev = slices.DeleteFunc(dev, func(n string) bool { return slices.Contains(deps, n) })
	return packageSettings(s, what, m.Name, m.Description, keysOf(m.Scripts), deps, dev)
}

// packageSettings says what a package is called, is for, needs and can run.
func packageSettings(s *Subject, what, name, about string, scripts, deps, dev []string) settings {
	name, about = cleanLine(name), firstSentence(cleanProse(about))
	out := settings{outside: deps}
	switch {
	case name != "" && about != "":
		out.title = name + ": " + clipClause(strings.TrimRight(about, "."), 80)
	case name != "":
		out.title = what + " " + name
	default:
		out.title = upperFirst(what) + " settings (" + tailPath(s.Path) + ")"
	}
	lines := []string{"The " + what}
	if name != "" {
		lines[0] += " `" + name + "`"
	}
	if about != "" {
		lines[0] += ": " + lowerFirst(about)
	}
	lines[0] = endSentence(lines[0])
	if n := len(deps); n > 0 {
		lines = append(lines, "It needs "+namesUpTo(deps, 6)+".")
	}
	if n := len(dev); n > 0 {
		lines = append(lines, "Developing it needs "+namesUpTo(dev, 6)+".")
	}
	if len(scripts) > 0 {
		lines = append(lines, "Its scripts are "+namesUpTo(scripts, 8)+".")
	}
	if len(lines) == 1 && name == "" {
		return settings{}
	}
	out.summary = strings.Join(lines, " ")
	out.parts = []component{}
	for i, n := range scripts {
		out.parts = append(out.parts, component{kind: "script", name: cleanLine(n), order: i, open: true, lines: 1})
	}
	return out
}

// namesUpTo joins names, and counts those beyond most.
func namesUpTo(names []string, most int) string {
	if left := len(names) - most; left > 0 {
		return joinWords(append(quoteAll(names[:most]), plural(left, "other")))
	}
	return joinWords(quoteAll(names))
}

func keysOf(maps ...map[string]json.RawMessage) []string {
	var out []string
	for _, m := range maps {
		for k := range m {
			if k = cleanLine(k); k != "" && len(k) <= 80 && !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	slices.Sort(out)
	return out
}

func goModFile(src []byte) settings {
	name := cleanLine(imports.ModulePath(src))
	if name == "" {
		return settings{}
	}
	var version string
	var deps []string
	inside := ""
	for line := range strings.Lines(string(src)) {
		t, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		f := strings.Fields(t)
		switch {
		case len(f) == 0:
		case f[0] == ")":
			inside = ""
		case len(f) == 2 && f[1] == "(":
			inside = f[0]
		case f[0] == "go" && len(f) == 2:
			version = f[1]
		case strings.TrimSpace(comment) == "indirect":
		case f[0] == "require" && len(f) == 3:
			deps = append(deps, f[1])
		case inside == "require" && len(f) == 2:
			deps = append(deps, f[0])
		}
	}
	line := "Go module `" + name + "`"
	if version != "" {
		line += ", for Go " + version
	}
	line += "."
	if len(deps) > 0 {
		line += " It needs " + namesUpTo(deps, 6) + "."
	}
	return settings{title: "Go module " + name, summary: line, outside: deps, parts: []component{}}
}

// manifestTOML reads the few keys of Cargo.toml and pyproject.toml that name and
// describe a package; lines of another shape are passed over.
func manifestTOML(s *Subject, src []byte, base string) settings {
	what := "Rust crate"
	if base == "pyproject.toml" {
		what = "Python package"
	}
	var name, about, section string
	var scripts, deps, dev []string
	list := false // inside dependencies = [
	for line := range strings.Lines(string(src)) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "[") && !list {
			section = strings.Trim(t, "[] ")
			if rest, ok := strings.CutPrefix(section, "dependencies."); ok {
				deps = append(deps, rest)
			}
			continue
		}
		if list {
			list = !strings.HasPrefix(t, "]")
			deps = append(deps, requirement(t)...)
			continue
		}
		key, value, ok := strings.Cut(t, "=")
		if !ok || strings.HasPrefix(t, "#") {
			continue
		}
		key, value = strings.Trim(strings.TrimSpace(key), `"`), strings.TrimSpace(value)
		switch section {
		case "package", "project", "tool.poetry":
			switch key {
			case "name":
				name = tomlString(value)
			case "description":
				about = tomlString(value)
			case "dependencies":
				list = !strings.Contains(value, "]")
				for part := range strings.SplitSeq(strings.Trim(value, "[]"), `",`) {
					deps = append(deps, requirement(part)...)
				}
			}
		case "dependencies", "workspace.dependencies", "tool.poetry.dependencies":
			if key, _, _ = strings.Cut(key, "."); key != "python" {
				deps = append(deps, key)
			}
		case "dev-dependencies", "tool.poetry.dev-dependencies", "tool.poetry.group.dev.dependencies":
			key, _, _ = strings.Cut(key, ".")
			dev = append(dev, key)
		case "project.scripts", "tool.poetry.scripts":
			scripts = append(scripts, key)
		}
	}
	if name == "" && len(deps) == 0 {
		return settings{}
	}
	return packageSettings(s, what, name, about, scripts, slices.Compact(deps), dev)
}

func tomlString(v string) string {
	if len(v) > 1 && (v[0] == '"' || v[0] == '\'') {
		if i := strings.IndexByte(v[1:], v[0]); i >= 0 {
			return v[1 : i+1]
		}
	}
	return ""
}

// requirement returns the package that one line of Python requirements names.
func requirement(t string) []string {
	t = strings.Trim(strings.TrimSpace(t), `"',[`)
	n := 0
	for n < len(t) && (isWordByte(t[n]) || t[n] == '-' || t[n] == '.') {
		n++
	}
	if n == 0 || t[0] == '-' || n < len(t) && !strings.ContainsRune(" <>=~![;\"',#@", rune(t[n])) {
		return nil
	}
	return []string{t[:n]}
}

func requirements(s *Subject, src []byte) settings {
	var deps []string
	for line := range strings.Lines(string(src)) {
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' {
			deps = append(deps, requirement(t)...)
		}
	}
	if len(deps) == 0 {
		return settings{}
	}
	return settings{title: "Python requirements (" + tailPath(s.Path) + ")", summary: "Python packages that are needed: " + namesUpTo(deps, 10) + ".", outside: deps, parts: []component{}}
}

func dockerFile(s *Subject, src []byte) settings {
	var from, stages, ports []string
	for line := range strings.Lines(string(src)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch strings.ToUpper(f[0]) {
		case "FROM":
			f = slices.DeleteFunc(f[1:], func(w string) bool { return strings.HasPrefix(w, "--") })
			if len(f) > 0 && !slices.Contains(stages, f[0]) && !slices.Contains(from, f[0]) {
				from = append(from, cleanLine(f[0]))
			}
			if len(f) > 2 && strings.EqualFold(f[1], "as") {
				stages = append(stages, cleanLine(f[2]))
			}
		case "EXPOSE":
			ports = append(ports, f[1:]...)
		}
	}
	if len(from) == 0 {
		return settings{}
	}
	line := "Docker image made from " + joinWords(quoteAll(from))
	if len(stages) > 0 {
		line += ", in the stages " + joinWords(quoteAll(stages))
		if len(stages) == 1 {
			line = strings.Replace(line, "in the stages", "with the stage", 1)
		}
	}
	line += "."
	if len(ports) > 0 {
		line += " It listens on " + joinWords(quoteAll(ports)) + "."
	}
	return settings{title: "Docker image from " + from[len(from)-1] + " (" + tailPath(s.Path) + ")", summary: line, parts: []component{}}
}

// workflow reads the name, the events and the jobs of a GitHub workflow.
func workflow(s *Subject, src []byte) settings {
	name, events, jobs := "", []string(nil), []string(nil)
	for key, value := range topYAML(src) {
		switch strings.Trim(key, `"'`) {
		case "name":
			name = cleanLine(strings.Trim(value.text, `"'`))
		case "on", "true":
			for w := range strings.FieldsFuncSeq(value.text, func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
				events = append(events, cleanLine(w))
			}
			events = append(events, value.keys...)
		case "jobs":
			jobs = value.keys
		}
	}
	if len(jobs) == 0 {
		return settings{}
	}
	out := settings{title: "Workflow " + name + " (" + path.Base(s.Path) + ")"}
	if name == "" {
		out.title = "Workflow " + path.Base(s.Path)
	}
	out.summary = "GitHub workflow"
	if name != "" {
		out.summary += " “" + name + "”"
	}
	if len(events) > 0 {
		out.summary += " that runs on " + joinWords(quoteAll(events))
	}
	word := "job"
	if len(jobs) > 1 {
		word = "jobs"
	}
	out.summary += ", with the " + word + " " + namesUpTo(jobs, 8) + "."
	out.parts = []component{}
	for i, j := range jobs {
		out.parts = append(out.parts, component{kind: "job", name: j, order: i, open: true, lines: 1})
	}
	return out
}

func compose(s *Subject, src []byte) settings {
	var services []string
	for key, value := range topYAML(src) {
		if key == "services" {
			services = value.keys
		}
	}
	if len(services) == 0 {
		return settings{}
	}
	out := settings{title: "Docker services " + strings.Join(services[:min(4, len(services))], ", ") + " (" + tailPath(s.Path) + ")"}
	out.summary = "Docker Compose file that runs " + namesUpTo(services, 10) + "."
	out.parts = []component{}
	for i, j := range services {
		out.parts = append(out.parts, component{kind: "service", name: j, order: i, open: true, lines: 1})
	}
	return out
}

// yamlValue is what stands behind a key of the first level: a text on its line,
// or the keys and items one level below.
type yamlValue struct {
	text string
	keys []string
}

// topYAML calls yield with the keys of the first level, read by their indent.
func topYAML(src []byte) func(yield func(string, yamlValue) bool) {
	return func(yield func(string, yamlValue) bool) {
		key, value, indent := "", yamlValue{}, 0
		for line := range bytes.Lines(src) {
			t := strings.TrimSpace(string(line))
			n := len(line) - len(bytes.TrimLeft(line, " "))
			if t == "" || t[0] == '#' {
				continue
			}
			name, rest, ok := strings.Cut(t, ":")
			if item, isItem := strings.CutPrefix(t, "- "); isItem && n == 0 {
				value.keys = append(value.keys, cleanLine(item))
				continue
			}
			if n == 0 {
				if !ok {
					continue
				}
				if key != "" && !yield(key, value) {
					return
				}
				rest, _, _ = strings.Cut(rest, " #")
				key, value, indent = name, yamlValue{text: strings.TrimSpace(rest)}, 0
				continue
			}
			if indent == 0 {
				indent = n
			}
			if n != indent {
				continue
			}
			if item, isItem := strings.CutPrefix(t, "- "); isItem {
				value.keys = append(value.keys, cleanLine(item))
			} else if ok && len(name) <= 60 {
				value.keys = append(value.keys, cleanLine(strings.Trim(name, `"'`)))
			}
		}
		if key != "" {
			yield(key, value)
		}
	}
}

func isLicenceFile(base string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(base, ".md"), ".txt"), ".rst")
	switch name {
	case "license", "licence", "copying", "copying.lesser", "unlicense", "license-mit", "license-apache", "mit-license":
		return true
	}
	return false
}

// licenceFile names the licence that a text is.
func licenceFile(s *Subject, src []byte) settings {
	low := strings.ToLower(strings.Join(strings.Fields(string(src[:min(len(src), 4096)])), " "))
	name := "a licence"
	for _, l := range [][2]string{
		{"apache license", "the Apache License"},
		{"mozilla public license", "the Mozilla Public License"},
		{"gnu affero general public", "the GNU Affero General Public License"},
		{"gnu lesser general public", "the GNU Lesser General Public License"},
		{"gnu general public license", "the GNU General Public License"},
		{"permission is hereby granted, free of charge", "the MIT License"},
		{"redistribution and use in source and binary forms", "a BSD License"},
		{"permission to use, copy, modify, and/or distribute", "the ISC License"},
		{"this is free and unencumbered software", "the Unlicense"},
		{"creative commons", "a Creative Commons licence"},
		{"eclipse public license", "the Eclipse Public License"},
		{"boost software license", "the Boost Software License"},
	} {
		if strings.Contains(low, l[0]) {
			name = l[1]
			break
		}
	}
	title := "Licence: " + strings.TrimPrefix(strings.TrimPrefix(name, "the "), "a ")
	if name == "a licence" {
		title = "Licence"
	}
	return settings{title: title + " (" + tailPath(s.Path) + ")", summary: "The terms under which this code may be used: " + name + ".", parts: []component{}}
}
