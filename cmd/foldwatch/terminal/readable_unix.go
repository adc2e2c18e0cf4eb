//go:build unix

package terminal

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readable waits until there is something to be read from a stream, the end of it
// too; false if nothing came within d, or before ctx ended. What is no file always
// has something. Nothing is left behind that would read in place of who reads next.
func readable(ctx context.Context, stream any, d time.Duration) bool {
	f, isFile := stream.(*os.File)
	if !isFile {
		return true
	}
	const look = 100 * time.Millisecond                            // how late it may be seen that ctx has ended
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
	for end := time.Now().Add(d); ; {
		left := min(time.Until(end), look)
		n, err := unix.Poll(fds, int(max(left, 0)/time.Millisecond))
		switch {
		case n > 0:
			return fds[0].Revents&(unix.POLLIN|unix.POLLHUP) != 0
		case err != nil && !errors.Is(err, unix.EINTR), left <= 0, ctx.Err() != nil:
			return false
		}
	}
}
