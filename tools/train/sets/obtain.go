package sets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// programLimit ends a program that waits for a network which does not answer.
const programLimit = 10 * time.Minute

// program runs one, in dir, and returns what it prints.
func program(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	exe, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: %w", name, fold.ErrUnavailable)
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return out.Bytes(), fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(lines[len(lines)-1]))
	}
	return out.Bytes(), nil
}

// What the manifest may ask to have run: everything else is for a person.
var (
	goModule   = regexp.MustCompile(`^go mod download -json ([\w./~-]+@v[\w.+-]+)(?: |$)`)
	npmPackage = regexp.MustCompile(`^npm pack ((?:@[\w.-]+/)?[\w.-]+@[\w.+-]+)(?: |$)`)
)

// tree gets the files of the repository in the way that covers most of sets. Why
// says for each set what stood in the way.
func (r repo) tree(ctx context.Context, cache, sets string, choice Choice) (dir string, way *obtain, why map[rune]string) {
	why = map[rune]string{}
	if choice.Clones != "" {
		dir, err := r.clone(ctx, cache, choice.Clones)
		if err == nil {
			return dir, &obtain{Exact: true, Covers: allSets}, why
		}
		for _, set := range sets {
			why[set] = err.Error()
		}
	}
	for _, o := range r.Obtain {
		covers := strings.Map(func(set rune) rune {
			if strings.ContainsRune(o.Covers, set) {
				return set
			}
			return -1
		}, sets)
		if covers == "" || way != nil {
			continue
		}
		got, err := o.get(ctx, cache)
		if err == nil {
			dir, way = got, &o
			continue
		}
		for _, set := range covers {
			why[set] = err.Error()
		}
	}
	return dir, way, why
}

// get returns the folder of the sources.
func (o obtain) get(ctx context.Context, cache string) (string, error) {
	if m := goModule.FindStringSubmatch(o.How); m != nil {
		return moduleDir(ctx, m[1])
	}
	if m := npmPackage.FindStringSubmatch(o.How); m != nil {
		return packageDir(ctx, cache, m[1])
	}
	return "", fmt.Errorf("neither a Go module nor an npm package: %s: %w", o.How, fold.ErrUnavailable)
}

// moduleDir returns the folder of a Go module in the module cache.
func moduleDir(ctx context.Context, module string) (string, error) {
	out, err := program(ctx, os.TempDir(), "go", "mod", "download", "-json", module)
	var m struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &m); jerr == nil && m.Error != "" {
		return "", fmt.Errorf("go module %s: %s", module, m.Error)
	}
	if err == nil && m.Dir == "" {
		err = fmt.Errorf("go mod download %s: named no folder", module)
	}
	return m.Dir, err
}

// packageDir returns the folder an npm package was unpacked to.
func packageDir(ctx context.Context, cache, name string) (string, error) {
	out := filepath.Join(cache, "sources", "npm-"+strings.NewReplacer("/", "+", "@", "-").Replace(name))
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	tmp, err := tempBeside(out)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	printed, err := program(ctx, tmp, "npm", "pack", "--ignore-scripts", "--silent", name)
	if err != nil {
		return "", err
	}
	lines := strings.Fields(string(printed))
	if len(lines) == 0 {
		return "", fmt.Errorf("npm pack %s: named no file", name)
	}
	archive := filepath.Join(tmp, filepath.Base(lines[len(lines)-1]))
	if err := unpack(archive, tmp); err != nil {
		return "", fmt.Errorf("unpack %s: %w", name, err)
	}
	if err := os.Remove(archive); err != nil {
		return "", err
	}
	return settle(tmp, out)
}

// Bounds of a package that is unpacked.
const (
	maxUnpacked = 1 << 30
	maxEntries  = 200_000
)

// unpack writes the regular files of a gzipped tar archive below dir, and
// nothing outside it.
func unpack(archive, dir string) (err error) {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	t := tar.NewReader(io.LimitReader(z, maxUnpacked))
	for range maxEntries {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.FromSlash(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		w, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, t)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return fmt.Errorf("more than %d entries: %w", maxEntries, fold.ErrInvalid)
}

// clone returns the files of the pinned commit, from one of a folder of
// repositories.
func (r repo) clone(ctx context.Context, cache, clones string) (string, error) {
	out := filepath.Join(cache, "sources", "git-"+r.Name+"-"+r.Commit)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	l, err := r.locate(ctx, clones)
	if err != nil {
		return "", err
	}
	files, err := l.Tree(ctx, r.Commit)
	if err != nil {
		return "", err
	}
	tmp, err := tempBeside(out)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := corpus.Export(ctx, l, files, tmp); err != nil {
		return "", err
	}
	return settle(tmp, out)
}

// locate returns the repository below clones that holds the pinned commit.
func (r repo) locate(ctx context.Context, clones string) (*usergit.Repo, error) {
	owned := strings.ReplaceAll(r.GitHub, "/", "+")
	for _, name := range []string{r.Name, r.Name + ".git", owned, owned + ".git"} {
		l, err := usergit.Locate(ctx, filepath.Join(clones, name))
		if err != nil {
			continue
		}
		if _, err := l.Tree(ctx, r.Commit); err == nil {
			return l, nil
		} // else another repository of that name, or a shallow one
	}
	return nil, fmt.Errorf("no repository below %s is called %s or %s and holds commit %.12s: %w", clones, r.Name, owned, r.Commit, fold.ErrNotFound)
}
