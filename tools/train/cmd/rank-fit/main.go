// Command rank-fit fits the weights by which search ranks files, code and sections. It
// asks a daemon of its own the questions of evaluation sets a to c, and fits weights
// under which the right ones among the candidates come first. Set d is never fitted
// on: its licence allows evaluation only.
//
// `make rank-fit` runs it and writes daemon/rank/fitted.go. It takes some minutes, most
// of them for the index of the corpora. Its tests also measure search: `make eval`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/foldwatch/foldwatch/tools/train/sets"
)

// fitSets are the sets that weights may be fitted on.
const fitSets = "abc"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the command line says.
type config struct {
	sets, cache, clones, out string
}

// run fits and writes the table, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c config
	flags := flag.NewFlagSet("rank-fit", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.sets, "sets", os.Getenv("FOLDWATCH_EVAL"), "folder of the evaluation sets; default: FOLDWATCH_EVAL")
	flags.StringVar(&c.cache, "cache", "", "folder in which corpora are kept; default: a temporary one")
	flags.StringVar(&c.clones, "clones", "", "folder of git repositories, for corpora that no registry has")
	flags.StringVar(&c.out, "o", "", "file to write; without it, only figures are printed")
	if flags.Parse(args) != nil {
		return 2
	}
	if c.sets == "" {
		fmt.Fprintln(stderr, "rank-fit: say where the evaluation sets are: -sets DIR, or FOLDWATCH_EVAL=DIR")
		return 2
	}
	if err := fitTo(ctx, c, stdout); err != nil {
		fmt.Fprintln(stderr, "rank-fit:", err)
		return 1
	}
	return 0
}

// fitTo gathers what the channels find, fits, prints figures and writes the table.
func fitTo(ctx context.Context, c config, stdout io.Writer) (err error) {
	if c.cache == "" {
		if c.cache, err = os.MkdirTemp("", "foldwatch-rank-fit-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.cache)) }()
	}
	all, err := sets.ReadSets(c.sets)
	if err != nil {
		return err
	}
	lists, err := gather(ctx, all, c, stdout)
	if err != nil {
		return err
	}
	if len(lists) == 0 {
		return errors.New("no corpus of sets a to c can be had here")
	}
	lines, macro := figures(lists, crossValidate(lists))
	fmt.Fprintln(stdout, "nDCG@10 (recall@10) by BM25; by weights fitted on the other repositories; by the table:")
	for _, line := range lines {
		fmt.Fprintln(stdout, line)
	}
	src, err := fitTable(lists).source(lists, macro)
	if err != nil {
		return err
	}
	if c.out == "" {
		_, err = stdout.Write(src)
		return err
	}
	return os.WriteFile(c.out, src, 0o644)
}
