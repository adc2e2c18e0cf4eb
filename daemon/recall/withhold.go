package recall

import (
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// withheld returns ErrSecret if the file of a memory holds a credential that was
// not allowed: the index has set it aside, and nobody is shown it.
func (d *Door) withheld(ctx context.Context, id fold.ID, b []byte) error {
	findings := secret.Scan(b)
	if len(findings) == 0 {
		return nil
	}
	var allowed map[string]bool
	if d.Allowed != nil {
		var err error
		if allowed, err = d.Allowed(ctx, id); err != nil {
			return err
		}
	}
	for _, f := range findings {
		if !allowed[f.Rule] {
			return fmt.Errorf("memory %s is set aside: its file holds a credential (rule %s, line %d): %w", id, f.Rule, f.Line,
				fold.WithHint(fold.ErrSecret, "take it out of the file"))
		}
	}
	return nil
}

// withoutSecrets is src with the lines of the hidden chunks of the memory id,
// and of what is found in it now, left empty; the first of each says why. There
// are as many lines as before.
func (d *Door) withoutSecrets(ctx context.Context, id fold.ID, src []byte) ([]byte, error) {
	chunks, err := d.Index.ChunksOf(ctx, []fold.ID{id})
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(src), "\n")
	hide := make([]bool, len(lines))
	mark := func(start, end int) { // from 1, inclusive
		for i := max(start, 1); i <= min(end, len(lines)); i++ {
			hide[i-1] = true
		}
	}
	found := false
	for _, c := range chunks[id] {
		if c.Hidden {
			found = true
			mark(c.StartLine, c.EndLine)
		}
	}
	for _, f := range secret.Scan(src) {
		found = true
		end := f.Line
		if strings.Contains(lines[f.Line-1], "-----BEGIN") { // the file may have changed since it was cut
			for end < len(lines) && !strings.Contains(lines[end-1], "-----END") {
				end++
			}
		}
		mark(f.Line, end)
	}
	if !found {
		return src, nil
	}
	for i := range lines {
		if !hide[i] {
			continue
		}
		end := "\n"
		if !strings.HasSuffix(lines[i], end) {
			end = ""
		}
		lines[i] = end
		if i == 0 || !hide[i-1] {
			lines[i] = "(withheld: a credential is on these lines)" + end
		}
	}
	return []byte(strings.Join(lines, "")), nil
}
