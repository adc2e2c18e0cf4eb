// Package sets gets what the questions of a folder of evaluation sets are asked of: sources
// by the Go module proxy, by npm or from clones, conversations as memories.
package sets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Sets are the questions of a folder of evaluation sets, and what it says of
// the corpora they are asked of.
type Sets struct {
	Dir     string
	repos   []repo
	queries []eval.Query
}

// A repo is one entry of data/manifest.json, as far as we need it.
type repo struct {
	Name   string   `json:"name"`
	GitHub string   `json:"github"`
	Commit string   `json:"commit"`
	Roots  []string `json:"roots"` // folders of its source, each with a slash or "" for all
	Exts   []string `json:"exts"`  // of its source, each with a dot
	Docs   []string `json:"docs"`  // folders of its documentation
	Obtain []obtain `json:"obtain"`
}

// scope returns the glob of the files that questions of a set are asked of: a and b
// are asked of code alone, c of documentation alone. "" is everything.
func (r repo) scope(set string) string {
	switch set {
	case "a", "b":
		return below(r.Roots, r.Exts)
	case "c":
		return below(r.Docs, []string{".md", ".rst", ".txt"})
	}
	return ""
}

// below returns the glob of the files with one of some extensions in one of some
// folders.
func below(folders, exts []string) string {
	if len(folders) == 0 || len(exts) == 0 {
		return ""
	}
	roots := make([]string, len(folders))
	for i, f := range folders {
		if f == "" {
			return "**/*" + either(exts)
		}
		roots[i] = strings.TrimSuffix(f, "/")
	}
	return either(roots) + "/**/*" + either(exts)
}

// either returns the glob of one of several texts.
func either(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// An obtain is one way to get the files of a repository.
type obtain struct {
	How    string `json:"how"`
	From   string `json:"from"`
	To     string `json:"to"`
	Exact  bool   `json:"exact"`
	Covers string `json:"covers"`
}

// Files of a folder of sets.
const (
	manifestFile = "data/manifest.json"
	memoriesFile = "data/locomo-memories.jsonl"
)

// allSets are the sets that are known, by how their corpora are made.
const allSets = "abcd"

// conversations is the set that is asked of memories.
const conversations = "d"

// ReadSets reads the questions below dir. It returns ErrNotFound if there are
// no sets.
func ReadSets(dir string) (*Sets, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("evaluation sets: %w", err)
	}
	s := &Sets{Dir: abs}
	b, err := os.ReadFile(s.path(manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no evaluation sets (%s): %w", dir, manifestFile, fold.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("evaluation sets: %w", err)
	}
	var m struct {
		Repos []repo `json:"repos"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", manifestFile, err, fold.ErrInvalid)
	}
	for _, r := range m.Repos {
		if r.Name == "" || fold.Slug(r.Name) != r.Name {
			return nil, fmt.Errorf("%s: repository %q is no plain name: %w", manifestFile, r.Name, fold.ErrInvalid)
		}
	}
	s.repos = m.Repos
	for _, set := range allSets {
		qs, err := eval.ReadQueries(s.questions(string(set)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.queries = append(s.queries, qs...)
	}
	if len(s.queries) == 0 {
		return nil, fmt.Errorf("%s holds no questions: %w", dir, fold.ErrNotFound)
	}
	return s, nil
}

func (s *Sets) path(name string) string { return filepath.Join(s.Dir, filepath.FromSlash(name)) }

func (s *Sets) questions(set string) string { return s.path("data/dev-" + set + ".jsonl") }

// Queries returns the questions of some sets ("ab"; "" means all), of the named
// corpora (none means all), in the order of their files.
func (s *Sets) Queries(sets string, repos ...string) []eval.Query {
	var out []eval.Query
	for _, q := range s.queries {
		if (sets == "" || strings.Contains(sets, q.Set)) && (len(repos) == 0 || slices.Contains(repos, q.Repo)) {
			out = append(out, q)
		}
	}
	return out
}
