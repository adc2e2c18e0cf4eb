//go:build unix

package conf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestSecretsWaitForNobody: what has the name of a file is a FIFO, every other moment.
func TestSecretsWaitForNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, fifo, name := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "name")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan int, 1)
	stop := make(chan struct{})
	turn := func(to string) {
		if err := errors.Join(os.Symlink(to, name+"2"), os.Rename(name+"2", name)); err != nil {
			t.Error(err)
		}
	}
	turn(file)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				read <- n
				return
			default:
			}
			if k, err := readSecret("key_file", name); err == nil && k == "secret" {
				n++
			} else if !errors.Is(err, fold.ErrInvalid) {
				t.Errorf("a name that is a FIFO now and then: %q, %v", k, err)
			}
		}
	}()
	for range 500 {
		turn(fifo)
		turn(file)
	}
	close(stop)
	select {
	case n := <-read:
		if n == 0 {
			t.Error("the secret was never read")
		}
	case <-time.After(10 * time.Second):
		t.Error("a reader waits for who writes to the FIFO")
	}
}

func TestSecretsAreOfTheUserAndShort(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("secret"+strings.Repeat("\n", maxKey)), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := readSecret("key_file", file); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("a long file: %q, %v", k, err)
	}
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make and read a file of another user")
	}
	if err := os.Chown(file, 1234, -1); err != nil {
		t.Fatal(err)
	}
	if k, err := readSecret("key_file", file); !errors.Is(err, fold.ErrForbidden) || fold.Hint(err) == "" {
		t.Errorf("a file of another user: %q, %v", k, err)
	}
}
