// Command embed-train learns the static embedding that is built into foldwatch: a
// vector for each of some thousand terms. It learns from pairs of two texts about the
// same thing, a doc comment and its code or a heading and its section, in the modules
// and packages that sources.tsv pins. It starts from how often terms stand near each
// other, and then learns to find the code of each comment among others.
//
// `make embed-train` runs it and writes vecindex/embed/static.table, its checksum and
// its data card, static.md. It takes about five minutes on two cores, and downloads
// 450 MB the first time. The same list gives the same bytes on every machine.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/foldwatch/foldwatch/meta/words"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are what the command line says.
type settings struct {
	out      string // folder; "" to write nothing
	cache    string
	maxTerms int // terms of the table
	first    int // sources that are read; 0 means all
	workers  int
	recipe   recipe
}

// run learns and writes the table, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	set := settings{recipe: standard()}
	flags := flag.NewFlagSet("embed-train", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&set.out, "o", "", "folder to write static.table, static_sum.go and static.md to; without it, only figures are printed")
	flags.StringVar(&set.cache, "cache", "", "folder for packages of npm (default: foldwatch-embed-train in the user's cache folder)")
	flags.IntVar(&set.first, "sources", 0, "read only so many sources, for a try")
	flags.IntVar(&set.recipe.steps, "steps", set.recipe.steps, "batches")
	flags.IntVar(&set.maxTerms, "terms", maxTerms, "terms that get a vector, at most")
	flags.IntVar(&set.workers, "workers", runtime.GOMAXPROCS(0), "work at once; the outcome does not depend on it")
	if flags.Parse(args) != nil {
		return 2
	}
	if err := train(ctx, set, stdout); err != nil {
		fmt.Fprintln(stderr, "embed-train:", err)
		return 1
	}
	return 0
}

// maxTerms keeps the table below 1 MB.
const maxTerms = 6300

// train fetches the sources, learns from them and writes what was learned.
func train(ctx context.Context, set settings, stdout io.Writer) error {
	start := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(stdout, "%5.0f s  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	all, err := sources()
	if err != nil {
		return err
	}
	if set.first > 0 {
		all = all[:min(set.first, len(all))]
	}
	if set.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		set.cache = filepath.Join(dir, "foldwatch-embed-train")
	}
	if err := os.MkdirAll(set.cache, 0o755); err != nil {
		return err
	}
	for i := range all {
		if err := all[i].fetch(ctx, set.cache); err != nil {
			return err
		}
	}
	say("%d sources are on this machine", len(all))
	c := newCorpus(all)
	if err := c.read(ctx, set.workers); err != nil {
		return err
	}
	say("read")
	rows, err := c.learn(set, say, stdout)
	if err != nil {
		return err
	}
	c.report(stdout)
	table, err := embed.EncodeTable(words.Version, rows)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(table)
	say("%d terms, %d bytes, SHA-256 %x", len(rows), len(table), sum)
	if set.out == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(set.out, "static.table"), table, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(set.out, "static_sum.go"), sumSource(hex.EncodeToString(sum[:])), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(set.out, "static.md"), c.card(set, len(rows), len(table), sum), 0o644)
}

// learn returns the rows of the table.
func (c *corpus) learn(set settings, say func(string, ...any), out io.Writer) ([]embed.TableRow, error) {
	c.keep(set.maxTerms)
	if len(c.terms) <= 2*dim {
		return nil, fmt.Errorf("%d terms are in enough sources, too few to learn from", len(c.terms))
	}
	w := workers(set.workers)
	associations := pmi(c)
	say("%d terms, %d associations", len(c.terms), len(associations.value))
	start := decompose(w, associations, set.recipe.seed)
	say("decomposed")
	m := learn(c, start, set.recipe, w, out)
	say("learned")
	rows := make([]embed.TableRow, len(c.terms))
	for t, term := range c.terms {
		// What counts in a text is weight times length; the table's rows have
		// unit length.
		l := length(&m.rows[t])
		rows[t] = embed.TableRow{Term: term, Weight: float32(float32(exp(float64(m.weights[t]))) * l), Vector: m.rows[t]}
	}
	return rows, nil
}

// sumSource returns the Go file that holds the checksum.
func sumSource(sum string) []byte {
	return []byte("// Code generated by cmd/embed-train (make embed-train); DO NOT EDIT.\n\npackage embed\n\n" +
		"// staticSum is the SHA-256 of static.table.\nconst staticSum = \"" + sum + "\"\n")
}
