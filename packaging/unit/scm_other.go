//go:build !windows

package unit

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// scm speaks to the service control manager.
func (Machine) scm(string) error {
	return fmt.Errorf("this is not Windows: %w", errors.Join(errors.ErrUnsupported, fold.ErrUnavailable))
}

// SCM reports how the service is, as the service control manager of Windows has
// it.
func (s Spec) SCM() (State, bool) { return State{}, false }

// RunSCM runs the daemon under the service control manager of Windows, if that
// is what started this program; asked says whether it is.
func RunSCM(context.Context, func(context.Context) error, func(error) bool) (asked bool, err error) {
	return false, nil
}
