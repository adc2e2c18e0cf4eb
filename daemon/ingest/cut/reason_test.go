package cut

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestReadReason shows that a reason says once what failed: path and operation
// stand beside it.
func TestReadReason(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "a.go", Err: syscall.EACCES}, "read: permission denied"},
		{fold.WithHint(fmt.Errorf("read src/a.go: %w: %w", fold.ErrUnavailable, syscall.EACCES), "check who owns it"), "read: permission denied"},
		{errors.New("changed while it was read"), "read: changed while it was read"},
	} {
		if got := ReadReason(tc.err); got != tc.want {
			t.Errorf("ReadReason(%v) = %q, want %q", tc.err, got, tc.want)
		}
	}
}
