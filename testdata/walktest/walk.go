// Package walktest changes a git checkout at random, as people, editors and git do,
// and tells what an index of it holds that was made from nothing.
package walktest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Walk is a random walk over one checkout: the same seed over the same checkout
// makes the same steps.
type Walk struct {
	dir  string
	git  func(args ...string) (string, error)
	rng  *rand.Rand
	n    int // of what was written, so that no two texts are equal
	held bool
	log  []string // of the step
}

// New returns a walk over the checkout at dir. git runs git there.
func New(dir string, seed uint64, git func(args ...string) (string, error)) *Walk {
	return &Walk{dir: dir, git: git, rng: rand.New(rand.NewPCG(seed, 19))}
}

// Step changes the checkout in one or several ways at once, and returns what it did.
func (w *Walk) Step() (did string, err error) {
	w.log = nil
	for range 1 + w.rng.IntN(3) {
		if err := w.change(); err != nil {
			return strings.Join(w.log, "; "), err
		}
	}
	return strings.Join(w.log, "; "), nil
}

// change does one thing. What git refuses in the state that the walk is in is no
// error: that it was asked is in the log.
func (w *Walk) change() error {
	files, dirs, err := w.tree()
	if err != nil {
		return err
	}
	switch w.rng.IntN(24) {
	case 0, 1, 2:
		return w.save(pick(w.rng, files))
	case 3, 4, 5:
		return w.save(path.Join(pick(w.rng, dirs), w.name()))
	case 6:
		return w.save(path.Join(pick(w.rng, dirs), w.folder(), w.folder(), w.name()))
	case 7:
		return w.remove(pick(w.rng, files))
	case 8, 9:
		return w.remove(pick(w.rng, dirs))
	case 10:
		return w.move(pick(w.rng, files), path.Join(pick(w.rng, dirs), w.name()))
	case 11, 12:
		return w.move(pick(w.rng, dirs), path.Join(pick(w.rng, dirs), w.folder()))
	case 13: // a folder gives way to a file, or a file to a folder
		if p := pick(w.rng, dirs); w.rng.IntN(2) == 0 && p != "" {
			if err := w.remove(p); err != nil {
				return err
			}
			return w.save(p)
		}
		p := pick(w.rng, files)
		if err := w.remove(p); err != nil || p == "" {
			return err
		}
		return w.save(path.Join(p, w.name()))
	case 14:
		return w.ignore(pick(w.rng, dirs), files, dirs)
	case 15:
		if _, err := w.try("add", "-A"); err != nil {
			return nil
		}
		_, _ = w.try("commit", "-q", "--allow-empty", "-m", fmt.Sprint("Step ", w.next()))
	case 16:
		_, _ = w.try("switch", "-q", "-c", fmt.Sprint("branch", w.next()))
	case 17, 18:
		return w.leave()
	case 19, 20:
		return w.stash()
	case 21:
		_, _ = w.try("reset", "-q", "--hard", []string{"HEAD", "HEAD", "HEAD~1"}[w.rng.IntN(3)])
	case 22:
		if p := cmp.Or(pick(w.rng, dirs), pick(w.rng, files)); p != "" {
			_, _ = w.try("checkout", "-q", "--", p)
		}
	case 23:
		_, _ = w.try("clean", "-q", "-f", "-d")
	}
	return nil
}

// Switch goes to a commit of the history, with what is not committed put away.
func (w *Walk) Switch() (did string, err error) {
	w.log = nil
	if w.rng.IntN(3) == 0 {
		if err := w.change(); err != nil {
			return strings.Join(w.log, "; "), err
		}
	}
	if w.rng.IntN(3) == 0 {
		if err := w.stash(); err != nil {
			return strings.Join(w.log, "; "), err
		}
	}
	if _, err := w.try("reset", "-q", "--hard"); err != nil {
		return strings.Join(w.log, "; "), err
	}
	return strings.Join(w.log, "; "), w.leave()
}

// leave goes to another branch or commit.
func (w *Walk) leave() error {
	out, err := w.git("rev-list", "--all", "--max-count=1000")
	if err != nil {
		return err
	}
	to := strings.Fields(out)
	if out, err = w.git("for-each-ref", "--format=%(refname:short)", "refs/heads"); err != nil {
		return err
	}
	if names := strings.Fields(out); w.rng.IntN(2) == 0 && len(names) > 0 {
		_, _ = w.try("switch", "-q", pick(w.rng, names))
	} else if len(to) > 0 {
		_, _ = w.try("switch", "-q", "--detach", pick(w.rng, to))
	}
	return nil
}

// stash puts changes away, or brings back those that were.
func (w *Walk) stash() error {
	if w.held {
		_, err := w.try("stash", "pop", "-q")
		if w.held = err != nil; err != nil { // in the way of what is there now
			_, _ = w.try("reset", "-q", "--hard")
			_, _ = w.try("stash", "drop", "-q")
			w.held = false
		}
		return nil
	}
	before, err := w.git("stash", "list")
	if err != nil {
		return err
	}
	args := []string{"stash", "push", "-q"}
	if w.rng.IntN(2) == 0 {
		args = append(args, "--include-untracked")
	}
	_, _ = w.try(args...)
	after, err := w.git("stash", "list")
	w.held = before != after
	return err
}

// ignore writes an ignore file into dir, or takes it away.
func (w *Walk) ignore(dir string, files, dirs []string) error {
	name := path.Join(dir, []string{".gitignore", ".gitignore", ".foldwatchignore"}[w.rng.IntN(3)])
	if w.rng.IntN(3) == 0 {
		return w.remove(name)
	}
	text := ""
	switch of := w.rng.IntN(3); {
	case of == 0 && len(dirs) > 0:
		text = path.Base(pick(w.rng, dirs)) + "/\n"
	case of == 1 && len(files) > 0:
		text = path.Base(pick(w.rng, files)) + "\n"
	default:
		text = "*" + []string{".md", ".txt", ".go"}[w.rng.IntN(3)] + "\n"
	}
	return w.put(name, text)
}

// save writes a text that was never there to p, which may be a new file.
func (w *Walk) save(p string) error {
	if p == "" {
		return nil
	}
	n := w.next()
	text := fmt.Sprintf("# Part %d\n\nWombat%d digs.\n", n, n)
	if strings.HasSuffix(p, ".go") {
		text = fmt.Sprintf("package p\n\nimport \"fmt\"\n\n// Wombat%d digs.\nfunc Wombat%d() { fmt.Println(%d) }\n", n, n, n)
	}
	return w.put(p, text)
}

func (w *Walk) put(p, text string) error {
	w.log = append(w.log, "write "+p)
	at := w.at(p)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return passable(err)
	}
	return passable(os.WriteFile(at, []byte(text), 0o644))
}

// passable is nil for what the state of the checkout does not allow: a part of the
// path is a file, or its end a folder.
func passable(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return nil
	}
	return err
}

func (w *Walk) remove(p string) error {
	if p == "" {
		return nil
	}
	w.log = append(w.log, "remove "+p)
	return os.RemoveAll(w.at(p))
}

func (w *Walk) move(from, to string) error {
	if from == "" || strings.HasPrefix(to+"/", from+"/") {
		return nil
	}
	w.log = append(w.log, "move "+from+" to "+to)
	if err := os.MkdirAll(filepath.Dir(w.at(to)), 0o755); err != nil {
		return passable(err)
	}
	err := os.Rename(w.at(from), w.at(to))
	if _, ok := errors.AsType[*os.LinkError](err); ok {
		return nil // onto what is there
	}
	return err
}

// tree lists the files and folders of the checkout, without git's and ours; the
// folders begin with "", the root.
func (w *Walk) tree() (files, dirs []string, err error) {
	err = filepath.WalkDir(w.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.dir, p)
		switch rel = filepath.ToSlash(rel); {
		case err != nil:
			return err
		case rel == ".git" || rel == "fold":
			return fs.SkipDir
		case rel == ".":
			dirs = append(dirs, "")
		case e.IsDir():
			dirs = append(dirs, rel)
		default:
			files = append(files, rel)
		}
		return nil
	})
	slices.Sort(files)
	slices.Sort(dirs)
	return files, dirs, err
}

func (w *Walk) try(args ...string) (string, error) {
	out, err := w.git(args...)
	done := "git " + strings.Join(args, " ")
	if err != nil {
		done += " (refused)"
	}
	w.log = append(w.log, done)
	return out, err
}

func (w *Walk) at(p string) string { return filepath.Join(w.dir, filepath.FromSlash(p)) }

func (w *Walk) next() int {
	w.n++
	return w.n
}

func (w *Walk) name() string {
	return fmt.Sprintf("%s%d%s", []string{"wombat", "bilby", "quoll"}[w.rng.IntN(3)], w.rng.IntN(9), []string{".go", ".md", ".txt", "_test.go"}[w.rng.IntN(4)])
}

func (w *Walk) folder() string {
	return []string{"burrow", "den", "nest", "two", "lodge"}[w.rng.IntN(5)]
}

// pick returns one of list, "" of none.
func pick(rng *rand.Rand, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[rng.IntN(len(list))]
}
