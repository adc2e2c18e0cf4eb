package textindex_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// numbered returns a document that the word n<i> finds, and filler.
func numbered(i int) textindex.Doc {
	return textindex.Doc{Key: fmt.Sprintf("m:%d", i), Kind: textindex.Memory, Memory: fold.ID(fmt.Sprint(i)), Body: fmt.Sprintf("number n%dx of the token pool", i)}
}

// filesBelow returns the files below dir, without the lock's.
func filesBelow(t testing.TB, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// copyDir copies an index that may be open: a file may go while it is copied.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	for {
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// damages are what may happen to a file while nobody looks.
var damages = map[string]func(r *rand.Rand, path string) error{
	"flip": func(r *rand.Rand, path string) error {
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			return err
		}
		for range 3 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return os.WriteFile(path, b, 0o600)
	},
	"truncate": func(r *rand.Rand, path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, r.Int64N(info.Size()+1))
	},
	"zero": func(_ *rand.Rand, path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, make([]byte, info.Size()), 0o600)
	},
	"empty":  func(_ *rand.Rand, path string) error { return os.Truncate(path, 0) },
	"remove": func(_ *rand.Rand, path string) error { return os.Remove(path) },
}

// Each file is damaged in each way, of an index that was closed and of one whose
// process was killed. Whatever is found, the daemon lives, the index works, and
// its seq tells truly what is in it.
func TestDamagedFilesDoNotEndTheProcess(t *testing.T) {
	base := t.TempDir()
	closed, killed := filepath.Join(base, "closed"), filepath.Join(base, "killed")
	x := open(t, closed)
	for seq := range 8 {
		apply(t, x, int64(seq+1), []textindex.Doc{numbered(seq)})
		if err := x.Flush(); err != nil { // several segments
			t.Fatal(err)
		}
	}
	copyDir(t, closed, killed) // as kill -9 would leave it
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(1, seed))
	n := 0
	for _, from := range []string{closed, killed} {
		for _, file := range filesBelow(t, from) {
			for name, damage := range damages {
				n++
				dir := filepath.Join(base, fmt.Sprint("try", n))
				copyDir(t, from, dir)
				rel, err := filepath.Rel(from, file)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage(r, filepath.Join(dir, rel)); err != nil {
					t.Fatal(err)
				}
				checkDamaged(t, dir, fmt.Sprintf("%s, %s %s", filepath.Base(from), name, rel))
			}
		}
	}
}

func checkDamaged(t *testing.T, dir, what string) {
	t.Helper()
	x, err := textindex.Open(dir, textindex.Options{Nap: time.Millisecond})
	if err != nil {
		t.Fatalf("%s: Open = %v, want an index", what, err)
	}
	seq := x.Seq()
	if x.Rebuilt != "" && (seq != 0 || x.Count() != 0) {
		t.Errorf("%s: begun anew with Seq %d, Count %d", what, seq, x.Count())
	}
	for i := range 8 {
		got := keys(t, x, textindex.Query{Text: fmt.Sprintf("n%dx", i)})
		if want := int64(i) < seq; want != strings.Contains(got, fmt.Sprintf("m:%d", i)) {
			t.Errorf("%s: Seq %d, Search(n%dx) = %q", what, seq, i, got)
		}
	}
	apply(t, x, 99, []textindex.Doc{numbered(77)})
	if err := x.Close(); err != nil {
		t.Errorf("%s: Close = %v", what, err)
	}
	y, err := textindex.Open(dir, textindex.Options{})
	if err != nil {
		t.Fatalf("%s: second Open = %v", what, err)
	}
	if y.Rebuilt != "" || y.Seq() != 99 {
		t.Errorf("%s: second Open: Rebuilt %q, Seq %d", what, y.Rebuilt, y.Seq())
	}
	if err := y.Close(); err != nil {
		t.Error(err)
	}
	if aside, _ := filepath.Glob(dir + "*.damaged*"); len(aside) > 1 {
		t.Errorf("%s: kept %v", what, aside)
	}
}

const childDir = "FOLDWATCH_TEXTINDEX_CHILD"

// TestKilledChild is the other side of TestSeqAfterKill: it writes until it is
// killed.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as a child process only")
	}
	x, err := textindex.Open(dir, textindex.Options{Nap: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for seq := x.Seq() + 1; ; seq++ {
		if err := x.Apply(context.Background(), seq, []textindex.Doc{numbered(int(seq))}, nil); err != nil {
			t.Fatal(err)
		}
		fmt.Println("applied", seq)
	}
}

// After kill -9, Seq is what was persisted, and everything up to it is there:
// the caller replays the rest.
func TestSeqAfterKill(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "text")
	last := int64(0)
	for _, steps := range []int{1, 7, 60} {
		child := exec.CommandContext(t.Context(), exe, "-test.run", "^TestKilledChild$")
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		applied, n := int64(0), 0
		for sc := bufio.NewScanner(out); sc.Scan() && n < steps; n++ {
			if _, err := fmt.Sscanf(sc.Text(), "applied %d", &applied); err != nil {
				t.Fatalf("child said %q", sc.Text())
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		x, err := textindex.Open(dir, textindex.Options{Nap: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		seq := x.Seq()
		if x.Rebuilt != "" || seq < last {
			t.Fatalf("after %d steps: Rebuilt %q, Seq %d, before %d", applied, x.Rebuilt, seq, last)
		}
		if x.Count() != int(seq) {
			t.Errorf("Seq %d, but %d documents", seq, x.Count())
		}
		for i := int64(1); i <= seq; i++ {
			if got := keys(t, x, textindex.Query{Text: fmt.Sprintf("n%dx", i), Limit: 1}); got != fmt.Sprintf("m:%d", i) {
				t.Errorf("Seq %d: Search(n%dx) = %q", seq, i, got)
			}
		}
		// The caller replays; this time it lasts.
		var docs []textindex.Doc
		for i := seq + 1; i <= applied; i++ {
			docs = append(docs, numbered(int(i)))
		}
		apply(t, x, max(applied, seq), docs)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		last = max(applied, seq)
	}
	x := open(t, dir)
	if x.Seq() != last || x.Count() != int(last) {
		t.Errorf("at last: Seq %d, Count %d, want %d", x.Seq(), x.Count(), last)
	}
}

// Three starts that end without Close begin anew: something in the index may
// have ended them.
func TestRepeatedCrashesBeginAnew(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "text")
	x := open(t, dir)
	apply(t, x, 1, []textindex.Doc{numbered(0)})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for i := range 4 {
		y := open(t, dir)
		reasons = append(reasons, y.Rebuilt)
		next := filepath.Join(base, fmt.Sprint("crash", i))
		copyDir(t, dir, next)
		dir = next
	}
	if !slices.Equal(reasons[:3], []string{"", "", ""}) || reasons[3] == "" {
		t.Errorf("reasons %q, want only the last", reasons)
	}
}

// TestDeletedIndexIsLeftAlone: an index whose folder was deleted closes at once, and
// writes nothing into what somebody has put in its place.
func TestDeletedIndexIsLeftAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the folder of an open file cannot be moved here")
	}
	state := filepath.Join(t.TempDir(), "state")
	dir := filepath.Join(state, "index")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	x, err := textindex.Open(dir, textindex.Options{Nap: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, x, 1, library())
	if err := errors.Join(os.Rename(state, state+".old"), os.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := x.Close(); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Close = %v, want an ErrUnavailable", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if filepath.Ext(f.Name()) != ".zap" { // Bleve writes segments behind us
			t.Errorf("it wrote %s", f.Name())
		}
	}
}
