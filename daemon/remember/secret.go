package remember

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// check returns ErrSecret if the file of a memory holds a credential of a rule that was
// not allowed for it.
func (d *Service) check(ctx context.Context, id fold.ID, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	var allowed map[string]bool
	if d.Allowed != nil {
		var err error
		if allowed, err = d.Allowed(ctx, id); err != nil {
			return err
		}
	}
	return scan(b, "file", allowed)
}

// scan returns ErrSecret with rule and line, but never the value. What names the text
// that the line is in.
func scan(b []byte, what string, allowed map[string]bool) error {
	for _, f := range secret.Scan(b, slices.Collect(maps.Keys(allowed))...) {
		return fmt.Errorf("the %s holds a credential (rule %s, line %d): %w", what, f.Rule, f.Line, fold.WithHint(fold.ErrSecret,
			"take it out; if it is no secret, allow the rule for this text: --allow-secret "+f.Rule))
	}
	return nil
}

// ruleSet is a list of rules parted by commas.
func ruleSet(list string) map[string]bool {
	out := map[string]bool{}
	for rule := range strings.SplitSeq(list, ",") {
		out[rule] = true
	}
	return out
}

// Restore brings the file at path (below fold/) back as it was at revision at; if at is
// empty, as the newest version that differs from the current one. It returns ErrNotFound
// if there is no such version, and ErrSecret if that holds a credential.
func (d *Service) Restore(ctx context.Context, path, at string) (gitops.Put, error) {
	id, _ := fold.OwnPath(path)
	return d.Store.Restore(ctx, path, at, func(b []byte) error { return d.check(ctx, id, b) })
}
