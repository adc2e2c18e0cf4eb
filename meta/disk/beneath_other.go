//go:build !linux

package disk

import "os"

// openBeneath is for systems that can open a path in one call without following
// links.
func openBeneath(*os.Root, string) (*os.File, error) { return nil, errUnsupported }
