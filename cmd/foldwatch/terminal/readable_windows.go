package terminal

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// readable waits until somebody touches the console; false if nobody did within d.
// What is no file always has something to be read.
func readable(_ context.Context, stream any, d time.Duration) bool {
	f, isFile := stream.(*os.File)
	if !isFile {
		return true
	}
	event, err := windows.WaitForSingleObject(windows.Handle(f.Fd()), uint32(d/time.Millisecond)) //nolint:gosec // some seconds
	return err == nil && event == windows.WAIT_OBJECT_0
}
