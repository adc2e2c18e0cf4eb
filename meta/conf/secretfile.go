package conf

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxKey bounds the length of a key in bytes.
const maxKey = 4 << 10

// readSecret returns what the file that the key names holds: one secret and nothing
// else. What is looked at is what is read, whatever takes the file's name meanwhile.
func readSecret(key, file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s %s is no file that holds a key: %w", key, file, fold.ErrInvalid)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fold.WithHint(fmt.Errorf("%s %s can be read by others: %w", key, file, fold.ErrForbidden), "chmod 600 "+strconv.Quote(file))
	}
	if !fileOwnedByUser(info) {
		return "", fold.WithHint(fmt.Errorf("%s %s belongs to another user: %w", key, file, fold.ErrForbidden), "chown it to the user whose daemon this is")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	k := strings.TrimSpace(string(b))
	if k == "" || len(b) > maxKey || strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s %s does not hold one line with a key: %w", key, file, fold.ErrInvalid)
	}
	return k, nil
}
