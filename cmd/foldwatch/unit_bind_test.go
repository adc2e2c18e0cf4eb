package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// TestBoundIsWithoutLinksOfOthers: what root binds is the place itself, and nobody but
// root and the service's account has a say in where that is.
func TestBoundIsWithoutLinksOfOthers(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("SKIP: gives files to others, as root of a Linux")
	}
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const account, mallory = 64001, 64002
	s := unit.Spec{OS: "linux", Scope: unit.System, Account: "keeper", UID: account}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := func(owner int, mode os.FileMode, parts ...string) string {
		p := filepath.Join(append([]string{top}, parts...)...)
		must(os.MkdirAll(p, 0o755)) //nolint:gosec // as folders of the machine are
		must(os.Chown(p, owner, owner))
		must(os.Chmod(p, mode))
		return p
	}
	link := func(owner int, to string, parts ...string) string {
		p := filepath.Join(append([]string{top}, parts...)...)
		must(os.Symlink(to, p))
		must(os.Lchown(p, owner, owner))
		return p
	}
	app := folder(account, 0o755, "srv", "app")
	secret := folder(0, 0o700, "secret")
	folder(mallory, 0o755, "hers")
	folder(0, 0o777, "open")
	folder(0, 0o777|os.ModeSticky, "sticky")
	for path, want := range map[string]string{
		app:                    app,
		link(0, app, "byroot"): app,
		link(account, "srv/../byroot", "byaccount"):    app,
		folder(account, 0o755, "sticky", "app"):        filepath.Join(top, "sticky", "app"),
		link(mallory, secret, "srv", "hers"):           "!" + filepath.Join(top, "srv", "hers") + " is a link of uid 64002",
		link(mallory, app, "sticky", "hers"):           "! is a link of uid 64002",
		link(0, "sticky/hers", "through"):              "!sticky/hers is a link of uid 64002",
		folder(account, 0o755, "hers", "app"):          "!" + filepath.Join(top, "hers") + " is a folder of uid 64002",
		folder(mallory, 0o755, "srv", "its"):           "! is a folder of uid 64002",
		folder(account, 0o755, "open", "app"):          "!open can be written by everybody",
		link(account, "loop", "loop"):                  "!more than 40 links",
		link(0, folder(0, 0o755, "a\nb"), "linebreak"): "!has control characters",
		filepath.Join(top, "nowhere"):                  "!no such file",
	} {
		got, err := bound(s, path)
		why, refused := strings.CutPrefix(want, "!")
		switch {
		case !refused && (err != nil || got != want):
			t.Errorf("bound(%s) = %q, %v, want %q", path, got, err, want)
		case refused && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("bound(%s) = %q, %v, want an error with %q", path, got, err, why)
		case refused && strings.Contains(why, "uid") && (!errors.Is(err, fold.ErrForbidden) || !strings.Contains(fold.Hint(err), "chown -R keeper")):
			t.Errorf("bound(%s): %v, hint %q", path, err, fold.Hint(err))
		}
	}
}
