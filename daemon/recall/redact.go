package recall

import (
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// checkSecrets returns ErrSecret if the file of a memory holds a credential that was
// not allowed. The index leaves such a memory out, and nothing shows it.
func (s *Service) checkSecrets(ctx context.Context, id fold.ID, b []byte) error {
	findings := secret.Scan(b)
	if len(findings) == 0 {
		return nil
	}
	var allowed map[string]bool
	if s.Allowed != nil {
		var err error
		if allowed, err = s.Allowed(ctx, id); err != nil {
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

// redact returns src without the lines that hold credentials: those of the hidden
// chunks of the memory id, and those that a scan of src finds now. The first line of
// each run says why, the others are empty, so that the number of lines stays.
func (s *Service) redact(ctx context.Context, id fold.ID, src []byte) ([]byte, error) {
	chunks, err := s.Index.ChunksOf(ctx, []fold.ID{id})
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(src), "\n")
	hide := make([]bool, len(lines))
	hideLines := func(start, end int) { // from 1, inclusive
		for i := max(start, 1); i <= min(end, len(lines)); i++ {
			hide[i-1] = true
		}
	}
	found := false
	for _, c := range chunks[id] {
		if c.Hidden {
			found = true
			hideLines(c.StartLine, c.EndLine)
		}
	}
	for _, f := range secret.Scan(src) {
		found = true
		end := f.Line
		if strings.Contains(lines[f.Line-1], "-----BEGIN") { // a key block; the file may have changed since its chunks were made
			for end < len(lines) && !strings.Contains(lines[end-1], "-----END") {
				end++
			}
		}
		hideLines(f.Line, end)
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
