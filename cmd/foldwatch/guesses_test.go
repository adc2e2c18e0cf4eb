package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestGuessesNameCommandsThatAre: what is hinted at is a command, with its flags, and
// nobody is told of another who named one that is.
func TestGuessesNameCommandsThatAre(t *testing.T) {
	t.Parallel()
	root := newRoot(newEnvironment(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	find := func(path string) *cobra.Command {
		words := strings.Fields(path)
		if len(words) == 0 || words[0] != "foldwatch" {
			return nil
		}
		c, _, err := root.Find(words[1:])
		if err != nil {
			return nil
		}
		return c
	}
	for of, tried := range guesses {
		parent := find(of)
		if parent == nil || parent.CommandPath() != of {
			t.Errorf("there is no command %q", of)
			continue
		}
		for words, means := range tried {
			for word := range strings.FieldsSeq(words) {
				if c, _, err := parent.Find([]string{word}); err == nil && c != parent {
					t.Errorf("%s %s is a command, and is taken for a guess", of, word)
				}
				if got := guessed(of, []string{word}); got != means {
					t.Errorf("guessed(%s %s) = %q, want %q", of, word, got, means)
				}
			}
			command, _, _ := strings.Cut(means, ";")
			var path []string
			for word := range strings.FieldsSeq(command) {
				if strings.HasPrefix(word, "-") || strings.ToUpper(word) == word {
					break
				}
				path = append(path, word)
			}
			c := find(strings.Join(path, " "))
			if c == nil || c.CommandPath() != strings.Join(path, " ") {
				t.Errorf("%s %s: there is no command %q", of, words, command)
				continue
			}
			for word := range strings.FieldsSeq(command) {
				if strings.HasPrefix(word, "--") && c.Flags().Lookup(word[2:]) == nil || len(word) == 2 && word[0] == '-' && c.Flags().ShorthandLookup(word[1:]) == nil {
					t.Errorf("%s has no flag %s", c.CommandPath(), word)
				}
			}
		}
	}
}

// TestGuessIsCarriedOn: what was said after the guess stands in the hint.
func TestGuessIsCarriedOn(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"stop":                                 "foldwatch service stop",
		"logs":                                 "foldwatch service logs; of memories: foldwatch log",
		"delete 1f2e3d4c5b6a7988":              "foldwatch memory rm 1f2e3d4c5b6a7988; of a checkout: foldwatch remove",
		"find retry backoff":                   "foldwatch search 'retry backoff'",
		"memory show 1f2e3d4c5b6a7988":         "foldwatch show 1f2e3d4c5b6a7988",
		"service enable":                       "foldwatch service install",
		"recall retry backoff":                 "foldwatch search 'retry backoff'",
		"forget 1f2e3d4c5b6a7988":              "foldwatch memory rm 1f2e3d4c5b6a7988; what it was stays in foldwatch log",
		"relate a uses b":                      "foldwatch link add SRC DST --type NAME",
		"global pooling":                       "foldwatch search --all-projects pooling",
		"serach":                               "foldwatch search",
		"new we cut at 200 lines; see chunker": "foldwatch memory add 'we cut at 200 lines; see chunker'",
	} {
		var out, errs bytes.Buffer
		e := newEnvironment(strings.NewReader(""), &out, &errs)
		if code := e.run(t.Context(), strings.Fields(line)); code != exitUsage {
			t.Errorf("%s: exit code %d", line, code)
		}
		if !strings.Contains(errs.String(), "\nhint: "+want+"\n") {
			t.Errorf("%s: %q, want the hint %q", line, errs.String(), want)
		}
	}
}
