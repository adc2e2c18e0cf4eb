package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// TestFixThatFailsIsTold keeps the finding, with the reason.
func TestFixThatFailsIsTold(t *testing.T) {
	ch := check{40, "x", 0, func(context.Context, *exam) []Result {
		return []Result{Fault("do it", "it is broken").remediedBy("mend it", func(context.Context) error { return errors.New("no way") })}
	}}
	got := ch.on(t.Context(), &exam{}, true)
	if len(got) != 1 || got[0].Status != Fail || !strings.Contains(got[0].Text, "to mend it failed: no way") {
		t.Errorf("%+v", got)
	}
}

// TestWhatWasFixedIsToldOnce also where the next thing cannot be.
func TestWhatWasFixedIsToldOnce(t *testing.T) {
	ch := check{40, "x", 0, func(context.Context, *exam) []Result {
		return []Result{
			Fault("do it", "one").remediedBy("mend it", func(context.Context) error { return nil }),
			Fault("do it", "two").remediedBy("mend it", func(context.Context) error { return errors.New("no way") }),
		}
	}}
	got := ch.on(t.Context(), &exam{}, true)
	if len(got) != 2 || got[0].Status != Fixed || got[1].Status != Fail {
		t.Errorf("%+v", got)
	}
}

// TestNumbersOfChecks: each has a number and a name of its own, and the README names
// them all.
func TestNumbersOfChecks(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	numbers, names := map[int]bool{}, map[string]bool{}
	for _, ch := range checks() {
		if numbers[ch.number] || names[ch.name] || ch.number < 1 {
			t.Errorf("check %d, %s: number or name is used twice", ch.number, ch.name)
		}
		numbers[ch.number], names[ch.name] = true, true
		if row := "| " + strconv.Itoa(ch.number) + " | `" + ch.name + "` |"; !strings.Contains(string(readme), row) {
			t.Errorf("README.md has no row %q", row)
		}
		if len(ch.name) > nameWidth {
			t.Errorf("%s is longer than its column", ch.name)
		}
	}
}

// TestDoctorFitsATerminal: no line is longer than a terminal of 80 columns, unless it
// is one word.
func TestDoctorFitsATerminal(t *testing.T) {
	for _, text := range []string{
		"do: git config --global user.name 'Your Name' && git config --global user.email you@example.com",
		"short", strings.Repeat("/long", 30), "動物園の飼育員は毎日正午に動物たちに餌をやります 動物園の飼育員は毎日",
	} {
		for i, line := range strings.Split(string(folded(text, 80)), "\n") {
			if i > 0 {
				line = strings.TrimPrefix(line, strings.Repeat(" ", textColumn))
			}
			if terminal.Columns(line) > 80-textColumn && strings.Contains(line, " ") {
				t.Errorf("%q is wider than %d", line, 80-textColumn)
			}
		}
	}
	if got := folded("a b", 0); got != "a b" {
		t.Errorf("without a terminal: %q", got)
	}
}

func TestTooOldGit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		major, minor int
		want         bool
	}{{0, 0, false}, {1, 99, true}, {2, 25, true}, {2, 30, true}, {2, 31, false}, {2, 100, false}, {3, 0, false}} {
		if got := tooOld(tc.major, tc.minor); got != tc.want {
			t.Errorf("tooOld(%d, %d) = %t", tc.major, tc.minor, got)
		}
	}
}

// TestHidesAll: what leaves out all of a folder, and what a part of it.
func TestHidesAll(t *testing.T) {
	for text, want := range map[string]bool{
		"*\n": true, "# x\n/*": true, "**\r\n": true, "*\n!project.toml\n": true,
		"": false, "*.log\n": false, "# *\n": false, "*\n!*\n": false, "a*\n": false,
	} {
		if got := hidesAll([]byte(text)); got != want {
			t.Errorf("hidesAll(%q) = %v", strings.TrimSpace(text), got)
		}
	}
}

// TestGitOfTheCheckout: what a hook's environment says of its own repository is not
// believed of another.
func TestGitOfTheCheckout(t *testing.T) {
	if noGit() {
		t.Skip("SKIP: needs git")
	}
	repository := func(animal string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tbare = true\n[zoo]\n\tanimal = " + animal + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"objects", "refs"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	t.Setenv("GIT_DIR", repository("emu"))
	x := &exam{host: &Host{GitTimeout: time.Minute}}
	if got, err := x.git(t.Context(), repository("quokka"), "config", "zoo.animal"); err != nil || got != "quokka" {
		t.Errorf("%q, %v", got, err)
	}
}
