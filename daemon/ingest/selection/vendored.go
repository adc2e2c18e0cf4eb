package selection

import (
	"path"
	"strings"
)

// Folders of code that other people wrote, at any depth, also where a repository
// tracks them. What is named so in a checkout's own code can be taken back by
// `!vendor/` in an ignore file, by -linguist-vendored in .gitattributes, or by
// an include pattern that names it. Not in the list: build, dist, bin, target,
// which are ignored by git where they are made and hold source where they are
// tracked.
var vendoredDirs = map[string]bool{
	"vendor": true, "third_party": true, "third-party": true, "bower_components": true, "jspm_packages": true, "site-packages": true, "Pods": true,
}

// Files that a package manager writes, which hold versions and sums of what
// others wrote.
var lockFiles = map[string]bool{
	"package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true, "pnpm-lock.yaml": true, "bun.lock": true, "deno.lock": true,
	"Cargo.lock": true, "go.sum": true, "go.work.sum": true, "composer.lock": true, "Gemfile.lock": true, "Podfile.lock": true,
	"Pipfile.lock": true, "poetry.lock": true, "pdm.lock": true, "uv.lock": true, "mix.lock": true, "pubspec.lock": true,
	"flake.lock": true, "packages.lock.json": true, "gradle.lockfile": true,
}

// generatedEnds are how the names of minified files and their maps end.
var generatedEnds = []string{".min.js", ".min.mjs", ".min.css", ".js.map", ".mjs.map", ".css.map"}

// leftOut reports whether a file of this name is left out unless the checkout
// says otherwise.
func leftOut(base string) bool {
	if lockFiles[base] {
		return true
	}
	if strings.HasSuffix(base, ".map") || strings.Contains(base, ".min.") {
		for _, end := range generatedEnds {
			if strings.HasSuffix(base, end) {
				return true
			}
		}
	}
	return false
}

// Why a file is left out, as status says it.
const (
	byIgnoreFile = "by " + IgnoreFile
	byProject    = "by the globs of project.toml"
	asVendored   = "as vendored or generated"
)

// ignored returns why the file at p is left out, "" if it is not: by an ignore
// file, by its attributes or by its name. Of these an ignore file counts most,
// then attributes, then an include pattern that names what is left out.
func (r Rules) ignored(p string) string {
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		dir := p[:i]
		switch ignored, ok := r.ignores.folderIgnored(dir); {
		case ok && ignored:
			return byIgnoreFile
		case !ok && vendoredDirs[path.Base(dir)] && !r.takesBack(p, dir):
			return asVendored
		}
	}
	if ignored, ok := r.ignores.ignored(p, false); ok {
		if ignored {
			return byIgnoreFile
		}
		return ""
	}
	set, ok := r.ignores.attribute(p)
	if set || !ok && leftOut(path.Base(p)) && !r.includes(p, path.Base(p)) {
		return asVendored
	}
	return ""
}

// takesBack reports whether the file at p is to be indexed although it lies in
// the vendored folder dir.
func (r Rules) takesBack(p, dir string) bool {
	if set, ok := r.ignores.attribute(p); ok {
		return !set
	}
	return r.includes(p, path.Base(dir))
}

// includes reports whether an include pattern that matches p has a part called
// name: one that has means it.
func (r Rules) includes(p, name string) bool {
	for _, g := range r.Include {
		for part := range strings.SplitSeq(g, "/") {
			if part == name && matchAny([]string{g}, p) {
				return true
			}
		}
	}
	return false
}

// PrunesDir reports whether nothing below a folder can be indexed, whatever git
// says of it.
func (r Rules) PrunesDir(dir string) bool {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		if at := dir[:i]; neverDirs[path.Base(at)] || r.prunesAt(at) {
			return true
		}
	}
	return false
}

// prunesAt reports whether a folder is left out with all below it, when those
// above it are not.
func (r Rules) prunesAt(dir string) bool {
	if ignored, ok := r.ignores.folderIgnored(dir); ok {
		return ignored
	}
	return vendoredDirs[path.Base(dir)] && !r.mayTakeBack(path.Base(dir))
}

// mayTakeBack reports whether some file in a vendored folder called name may be
// taken back.
func (r Rules) mayTakeBack(name string) bool {
	for _, g := range r.Include {
		for part := range strings.SplitSeq(g, "/") {
			if part == name {
				return true
			}
		}
	}
	if r.ignores != nil {
		for _, f := range r.ignores.vendored {
			for _, pt := range f.patterns {
				if pt.take {
					return true
				}
			}
		}
	}
	return false
}

// neverDirs are folders that no one's memory is made of, also where a
// repository tracks them.
var neverDirs = map[string]bool{".git": true, "node_modules": true, "__pycache__": true}
