package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// tailBytes bounds how much of a log is read for its last lines.
const tailBytes = 1 << 20

// tail prints the last lines of a file, and with follow what is added until ctx
// ends, also when the file is begun anew.
func tail(ctx context.Context, app *App, path string, lines int, follow bool) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no log yet at %s: %w", path, fold.ErrNotFound)
	}
	if err != nil {
		return err
	}
	defer func() { f.Close() }() // that which is open by then
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Seek(max(0, info.Size()-tailBytes), io.SeekStart); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if _, err := app.Stdout.Write(lastOf(b, lines)); err != nil || !follow {
		return err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := io.Copy(app.Stdout, f); err != nil {
			return err
		}
		was, errA := f.Stat()
		is, errB := os.Stat(path)
		if errA == nil && errB == nil && !os.SameFile(was, is) {
			next, err := os.Open(path)
			if err != nil {
				continue // it is being replaced
			}
			_ = f.Close()
			f = next
		}
	}
}

// lastOf returns the last n lines of b.
func lastOf(b []byte, n int) []byte {
	at := len(b)
	for range n {
		i := bytes.LastIndexByte(bytes.TrimSuffix(b[:at], []byte("\n")), '\n')
		if i < 0 {
			return b
		}
		at = i + 1
	}
	return b[at:]
}
