package sets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// A Choice says which corpora [Sets.Prepare] gets. The zero value is all.
type Choice struct {
	Sets    string   // "" means all
	Repos   []string // none means all
	History bool     // with the past commits that the sets know
	// Clones is a folder of git repositories, named as the corpora or as OWNER+NAME,
	// for those that no package registry has; "" for none.
	Clones string
	// Whole asks all that a checkout holds, manuals and code together, instead of
	// the files that a set is about: code for a and b, documentation for c.
	Whole bool
	// Progress is told what is being done; nil for nothing.
	Progress func(what string)
}

// A Missing is a corpus that cannot be had here.
type Missing struct {
	Repo string
	Sets string // whose questions cannot be asked of it
	Why  string
}

// Prepare gets the corpora of a choice: sources by the Go module proxy, by npm
// or from clones, made into corpora by the sets' own program, once, in the
// folder cache; conversations as memories. What cannot be had is in missing. It
// may run in several processes at once.
func (s *Sets) Prepare(ctx context.Context, cache string, choice Choice) (corpora []corpus.Corpus, missing []Missing, err error) {
	if choice.Progress == nil {
		choice.Progress = func(string) {}
	}
	type key struct{ repo, sets string }
	var keys []key
	for _, q := range s.Queries(choice.Sets, choice.Repos...) {
		k := key{q.Repo, q.Set}
		if i := slices.IndexFunc(keys, func(o key) bool { return corpus.SlugOf(o.repo, o.sets[:1]) == corpus.Slug(q) }); i < 0 {
			keys = append(keys, k)
		} else if !strings.Contains(keys[i].sets, q.Set) {
			keys[i].sets += q.Set
		}
	}
	for _, k := range keys {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		var c corpus.Corpus
		var err error
		if k.sets == conversations {
			c, err = s.conversation(k.repo)
		} else {
			choice.Progress("get " + k.repo + " for " + setsText(k.sets))
			var lost []Missing
			c, lost, err = s.source(ctx, cache, k.repo, k.sets, choice)
			missing = append(missing, lost...)
			if err == nil && c.Slug == "" {
				continue
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("corpus %s: %w", k.repo, err)
		}
		corpora = append(corpora, c)
	}
	return corpora, missing, nil
}

func setsText(sets string) string {
	if len(sets) == 1 {
		return "set " + sets
	}
	return "sets " + strings.Join(strings.Split(sets, ""), " and ")
}

// source prepares the corpus of a repository. Sets it cannot be had for are in
// lost; without any left the corpus is empty.
func (s *Sets) source(ctx context.Context, cache, name, sets string, choice Choice) (c corpus.Corpus, lost []Missing, err error) {
	i := slices.IndexFunc(s.repos, func(r repo) bool { return r.Name == name })
	if i < 0 {
		return c, []Missing{{name, sets, "the manifest does not name it"}}, nil
	}
	r := s.repos[i]
	tree, way, why := r.tree(ctx, cache, sets, choice)
	have := strings.Map(func(set rune) rune {
		if way != nil && strings.ContainsRune(way.Covers, set) {
			return set
		}
		lost = append(lost, Missing{name, string(set), cmp.Or(why[set], "what can be had does not cover it")})
		return -1
	}, sets)
	if have == "" {
		return c, lost, nil
	}
	blank := "b" // what sets a and b are asked of
	if have == "c" {
		blank = "c"
	}
	c = corpus.Corpus{Slug: corpus.SlugOf(name, have[:1])}
	if !way.Exact {
		c.Note = "not byte for byte what the questions are about"
	}
	c.Scopes = map[string]string{}
	for set := range strings.SplitSeq(have, "") {
		if !choice.Whole {
			c.Scopes[set] = r.scope(set)
		}
	}
	if c.Tree, err = s.blanked(ctx, cache, r, *way, tree, blank); err != nil {
		return c, nil, err
	}
	if choice.History && strings.Contains(have, "a") {
		c.Past, err = s.history(ctx, r, choice.Clones)
	}
	return c, lost, err
}

// blanked returns the folder of a corpus without the lines that the questions
// of blank ask for, made by the sets' own program where it is not there yet.
func (s *Sets) blanked(ctx context.Context, cache string, r repo, way obtain, tree, blank string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, r, way, blank)
	questions := []string{s.questions("b"), s.questions("c")}
	for _, p := range append(questions, s.path(manifestFile), s.path("corpus.go")) {
		b, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	out := filepath.Join(cache, "corpora", fmt.Sprintf("%s-%s-%x", r.Name, blank, h.Sum(nil)[:6]))
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	tmp, err := tempBeside(out)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	_, err = program(ctx, s.Dir, "go", "run", ".", "corpus", "-manifest", s.path(manifestFile), "-repo", r.Name, "-tree", tree,
		"-from", way.From, "-to", way.To, "-q", strings.Join(questions, ","), "-sets", blank, "-out", tmp)
	if err != nil {
		return "", err
	}
	return settle(tmp, out)
}

// tempBeside makes a folder that can be renamed to out.
func tempBeside(out string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(out), ".making-*")
}

// settle gives what was made in tmp its name. Another process may have been
// faster, with the same.
func settle(tmp, out string) (string, error) {
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	err := os.Rename(tmp, out)
	if _, serr := os.Stat(out); err != nil && serr == nil {
		return out, nil
	}
	return out, err
}

// historyEnd is when the last past commit is made. It is so long ago that no
// memory is stronger than others.
var historyEnd = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// history returns the past commits of a repository, oldest first: those that the
// sets know, else those of its clone. Without either there are none.
func (s *Sets) history(ctx context.Context, r repo, clones string) ([]usergit.FixtureCommit, error) {
	type line struct {
		Text  string   `json:"text"`
		Files []string `json:"files"`
	}
	var past []usergit.FixtureCommit
	lines, err := eval.ReadLines[line](s.path("data/history-" + r.Name + ".jsonl"))
	switch {
	case err == nil:
		for _, l := range lines {
			past = append(past, usergit.FixtureCommit{Message: l.Text, Files: l.Files})
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	case clones != "":
		l, err := r.locate(ctx, clones)
		if err != nil {
			return nil, nil //nolint:nilerr // its files came from elsewhere
		}
		if past, err = corpus.Before(ctx, l, r.Commit); err != nil {
			return nil, err
		}
	}
	for i := range past {
		past[i].Time = historyEnd.Add(time.Duration(i-len(past)) * time.Hour)
	}
	return past, nil
}
