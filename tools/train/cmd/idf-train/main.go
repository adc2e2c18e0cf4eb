// Command idf-train counts in how many files each word of code and its comments
// occurs, and lists the common ones by how rare they are. The daemon chooses the
// keywords of a description by that table. It counts the source of the Go toolchain
// and of modules that the product's go.mod pins: every machine that builds foldwatch
// can have them.
//
// `make idf` runs it and writes daemon/ingest/describe/keywords_table.go. It takes some seconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run counts and writes the table, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("idf-train", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "", "file to write; without it, only figures are printed")
	if flags.Parse(args) != nil {
		return 2
	}
	if err := train(ctx, *out, stdout); err != nil {
		fmt.Fprintln(stderr, "idf-train:", err)
		return 1
	}
	return 0
}

// train counts all corpora and writes the table to the file out, if not empty.
func train(ctx context.Context, out string, stdout io.Writer) error {
	corpora, err := locate(ctx)
	if err != nil {
		return err
	}
	c, err := countAll(ctx, corpora)
	if err != nil {
		return err
	}
	t := c.table()
	src, err := t.source(corpora)
	if err != nil {
		return err
	}
	c.report(stdout)
	t.report(stdout, len(src))
	if out == "" {
		return nil
	}
	return os.WriteFile(out, src, 0o644)
}
