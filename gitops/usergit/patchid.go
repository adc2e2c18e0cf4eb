package usergit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// patchBytes bounds the patches that are looked at to find out which commits
// make the same change: a minute of work, not the whole of a monorepo.
const patchBytes = 64 << 20

// PatchIDs returns for each commit what its change looks like, whatever it was
// made on: two commits of one id are the same change, one of them rewritten.
// Merges and commits that change nothing have none. It returns ErrUnavailable
// if the patches are too large in all.
func (l *Repo) PatchIDs(ctx context.Context, oids []string) (map[string]string, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		// Both diff options keep settings of the repository from running a program.
		patches := l.Git("diff-tree", "--stdin", "-p", "--root", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--full-index")
		patches.stdin = strings.NewReader(strings.Join(oids, "\n") + "\n")
		err := patches.stream(ctx, func(r *bufio.Reader) error {
			n, err := io.CopyN(out, r, patchBytes)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = fmt.Errorf("more than %d bytes of patches: %w", n, fold.ErrUnavailable)
			}
			return err
		})
		written <- errors.Join(err, out.CloseWithError(err))
	}()
	ids := make(map[string]string, len(oids))
	of := l.Git("patch-id", "--stable")
	of.stdin = in
	err := of.stream(ctx, func(r *bufio.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if id, oid, ok := strings.Cut(lines.Text(), " "); ok {
				ids[oid] = id
			}
		}
		return lines.Err()
	})
	in.CloseWithError(io.ErrClosedPipe) // lets the writer go where the program ended first
	if werr := <-written; werr != nil && !errors.Is(werr, io.ErrClosedPipe) {
		err = werr
	}
	if err != nil {
		return nil, fmt.Errorf("compare patches: %w", err)
	}
	return ids, nil
}
