// Command eval-sets asks the questions of a folder of evaluation sets: it gets their corpora,
// indexes them in a scratch folder, and prints nDCG@10, MRR@10 and recall@5, 10 and 20 with
// 95 % intervals, for each channel and for all together. Sets a and b are asked of the code
// of a repository, set c of its documentation, as search --path does it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/tools/train/sets"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "eval-sets:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir := flag.String("sets", os.Getenv("FOLDWATCH_EVAL"), "folder of evaluation sets")
	only := flag.String("set", "", "only these sets, such as ab")
	repos := flag.String("repo", "", "only the corpora of these names, separated by commas")
	out := flag.String("out", "", "write what was answered into this folder, a run file for each set and way of search")
	clones := flag.String("clones", "", "take corpora from the git repositories in this folder, called NAME or OWNER+NAME")
	scratch := flag.String("scratch", "", "keep checkouts and indexes in this folder, for the next time")
	noPast := flag.Bool("no-history", false, "without the past commits of the corpora")
	whole := flag.Bool("whole", false, "ask code and documentation together, not only what a set is about")
	byFile := flag.Bool("by-file", false, "count a place by its file alone")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	all, err := sets.ReadSets(*dir)
	if err != nil {
		return err
	}
	var names []string
	if *repos != "" {
		names = strings.Split(*repos, ",")
	}
	questions := all.Queries(*only, names...)
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	say := func(what string) { fmt.Fprintln(os.Stderr, what) }
	corpora, missing, err := all.Prepare(ctx, filepath.Join(cache, "foldwatch", "eval"), sets.Choice{
		Sets: *only, Repos: names, History: !*noPast, Clones: *clones, Whole: *whole, Progress: say,
	})
	if err != nil {
		return err
	}
	for _, m := range missing {
		say(fmt.Sprintf("SKIP: %s, set %s: %s", m.Repo, m.Sets, m.Why))
		questions = slices.DeleteFunc(questions, func(q eval.Query) bool { return q.Repo == m.Repo && strings.Contains(m.Sets, q.Set) })
	}
	if len(questions) == 0 {
		return errors.New("no question can be asked here")
	}
	s, err := corpus.Open(ctx, corpus.Options{Dir: *scratch}, corpora...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	past := slices.ContainsFunc(corpora, func(c corpus.Corpus) bool { return len(c.Past) > 0 })
	ways, err := s.AskAll(ctx, questions, corpus.Ways(past), corpus.AskOptions{ByFile: *byFile, Out: *out})
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"ways": ways, "skipped": missing})
	}
	eval.Table(func(format string, args ...any) { fmt.Printf(format, args...) }, ways)
	return nil
}
