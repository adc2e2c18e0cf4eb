package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// mostLinks is how many links a path may lead through, as in the kernel.
const mostLinks = 40

// bound returns the path, without links, of the checkout that root binds into the view
// of the machine's service. The service manager follows that path at each start, so
// that who could put a link into it could have another place bound: it returns an
// ErrForbidden if a part of it, or of what a link leads through, belongs to anybody but
// root and the service's account, or can be replaced by everybody.
func bound(s unit.Spec, path string) (string, error) {
	todo := strings.Split(filepath.Clean(path), string(filepath.Separator))
	at, links := string(filepath.Separator), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if err := mayLead(s, next, info); err != nil {
			return "", err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			at = next
			continue
		}
		if links++; links > mostLinks {
			return "", fmt.Errorf("%s leads through more than %d links: %w", path, mostLinks, fold.ErrInvalid)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			at = string(filepath.Separator)
		}
		todo = append(strings.Split(to, string(filepath.Separator)), todo...)
	}
	return at, unit.Bindable(at)
}

// mayLead returns an ErrForbidden if what lies at path may lead the service manager to
// where somebody else wants it.
func mayLead(s unit.Spec, path string, info fs.FileInfo) error {
	uid, known := ownerOf(info)
	what := "a folder"
	if info.Mode().Type() == fs.ModeSymlink {
		what = "a link"
	}
	if known && uid != 0 && uid != s.UID {
		return fold.WithHint(fmt.Errorf("%s is %s of %s, who could have root bind another place into the service's view: %w", path, what, accountName(uid), fold.ErrForbidden),
			"put the checkout below folders of root, such as /srv, and make it the account's: chown -R "+s.Account+" CHECKOUT")
	}
	if mode := info.Mode(); mode.IsDir() && mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return fold.WithHint(fmt.Errorf("%s can be written by everybody, who could have root bind another place into the service's view: %w", path, fold.ErrForbidden),
			"chmod o-w "+terminal.Quote(path))
	}
	return nil
}

// accountName is the account with the number, as a person knows it.
func accountName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(uid)
}
