// Package sock listens and connects at the socket that only the owner of the daemon may
// use: a unix socket, or a named pipe on Windows. Each peer is checked.
package sock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
)

// ErrInUse says that another process listens at the path.
var ErrInUse = errors.New("another process listens there")

// ErrNobody says that nothing listens at the path.
var ErrNobody = errors.New("nothing listens there")

// ErrForeign says that the file at the path, or its folder, belongs to somebody else.
var ErrForeign = errors.New("not ours")

// maxPath is the longest socket path in bytes that we use as it is: the kernel
// takes 108 with the final zero on Linux and 104 on macOS.
const maxPath = 100

// Options of a listener. The zero value works.
type Options struct {
	// Log gets each refused peer. Nil discards.
	Log *slog.Logger
}

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

func shortName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6]) + ".sock"
}
