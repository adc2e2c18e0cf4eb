package ingest

import (
	"context"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/meta/index"
)

const (
	retryPart      = 1000    // files asked for at once
	stateForgotten = "stale" // of the manifest: to be read again, whatever its stat says
)

// passes reports whether what is wrong with a file may be mended by trying
// again, without a change of its content: it could not be read, no parser could
// be started, or the machine was too busy for one.
func passes(f index.File) bool {
	return f.State == "failed" || f.State == "indexed" && f.Reason == cut.AsTextHung
}

// Failures returns the files below fold/ or, apart, of the source that an
// attempt failed on and which another may mend. With all, those set aside for
// good are among them: memory files that cannot be read as such, and files on
// which their parser crashes.
func (in *Ingester) Failures(ctx context.Context, all bool) (source, memories []string, err error) {
	cursor := ""
	for {
		files, next, err := in.Index.ProblemsAfter(ctx, cursor, retryPart)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			switch {
			case f.State == "skipped":
				return source, memories, nil // they come last
			case !passes(f) && (!all || f.State != "quarantined" && !strings.HasPrefix(f.Reason, cut.AsText)):
			case f.Fold:
				memories = append(memories, f.Path)
			default:
				source = append(source, f.Path)
			}
		}
		if cursor = next; cursor == "" {
			return source, memories, nil
		}
	}
}

// Retry reads and cuts again what Failures returns.
func (in *Ingester) Retry(ctx context.Context, all bool, tell progress.Func) (progress.Report, error) {
	source, memories, err := in.Failures(ctx, all)
	if err != nil {
		return progress.Report{}, err
	}
	var forget []index.Change
	for i, paths := range [][]string{source, memories} {
		for _, p := range paths {
			f, err := in.Index.FileByPath(ctx, p, i == 1)
			if err != nil {
				return progress.Report{}, err
			}
			if all && f.Hash != "" {
				in.reader.Distrust(f.Hash)
			}
			f.State, f.Hash, f.MtimeNS = stateForgotten, "", -1
			forget = append(forget, index.Change{File: &f})
		}
	}
	if len(forget) > 0 {
		if _, err := in.apply(ctx, forget); err != nil {
			return progress.Report{}, err
		}
	}
	r, err := in.Fold(ctx, memories, tell)
	if err != nil {
		return r, err
	}
	s, err := in.Source(ctx, source, tell)
	r.Add(s)
	return r, err
}
