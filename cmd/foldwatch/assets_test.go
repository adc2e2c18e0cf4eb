package main

import (
	"bytes"
	"io"
	"maps"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each command has a page, and the page each flag; twice gives the same.
func TestAssets(t *testing.T) {
	t.Parallel()
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	root := newRoot(app)
	files, err := assets(root, "/opt/foldwatch", "2026-01-31")
	if err != nil {
		t.Fatal(err)
	}
	again, err := assets(newRoot(app), "/opt/foldwatch", "2026-01-31")
	if err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("assets twice differ (%v)", err)
	}
	for _, c := range root.Commands() {
		page := string(files["usr/share/man/man1/foldwatch-"+c.Name()+".1"])
		if c.IsAvailableCommand() != (page != "") {
			t.Errorf("%s: available %t, page of %d bytes", c.Name(), c.IsAvailableCommand(), len(page))
		}
		for _, s := range append([]*cobra.Command{c}, c.Commands()...) {
			s.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if c.IsAvailableCommand() && s.IsAvailableCommand() && !f.Hidden && f.Name != "help" && !strings.Contains(page, strings.ReplaceAll("--"+f.Name, "-", `\-`)) {
					t.Errorf("the page of %s lacks --%s of %s", c.Name(), f.Name, s.CommandPath())
				}
			})
		}
	}
	for _, path := range []string{
		"usr/lib/systemd/user/foldwatch.service", "usr/lib/systemd/system/foldwatch.service", "usr/lib/sysusers.d/foldwatch.conf",
		"usr/share/bash-completion/completions/foldwatch", "usr/share/zsh/site-functions/_foldwatch", "usr/share/fish/vendor_completions.d/foldwatch.fish",
	} {
		if len(files[path]) == 0 {
			t.Errorf("%s is missing", path)
		}
	}
	if !bytes.Contains(files["usr/lib/systemd/user/foldwatch.service"], []byte("/opt/foldwatch")) {
		t.Error("the unit does not start the program that was named")
	}
}

func TestManPagesAreRoff(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("SKIP: groff is missing (Debian: apt-get install groff-base)")
	}
	var all strings.Builder
	pages := help.Pages(newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard)), "2026-01-31")
	for _, p := range pages {
		all.WriteString(p.Text)
	}
	warnings := func(text string) string {
		cmd := exec.CommandContext(t.Context(), "groff", "-man", "-ww", "-k", "-Tutf8", "-z")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("groff: %v: %s", err, out)
		}
		return string(out)
	}
	if w := warnings(all.String()); w != "" {
		t.Errorf("groff says:\n%s", w)
	}
	if warnings(all.String()+".nonsense\n") == "" {
		t.Error("groff says nothing of a request that is none")
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	built := func(v string) func() (*debug.BuildInfo, bool) {
		return func() (*debug.BuildInfo, bool) { return &debug.BuildInfo{Main: debug.Module{Version: v}}, v != "" }
	}
	for _, tc := range []struct{ set, commit, module, want, wantCommit string }{
		{"1.2.3", "abc", "v9.9.9", "1.2.3", "abc"},
		{"", "", "v1.2.3", "1.2.3", "unknown"},
		{"", "", "(devel)", "0.1.0-dev", "unknown"},
		{"", "", "", "0.1.0-dev", "unknown"},
	} {
		if v, c := identity(tc.set, tc.commit, built(tc.module)); v != tc.want || c != tc.wantCommit {
			t.Errorf("identity(%q, %q, %q) = %q, %q, want %q, %q", tc.set, tc.commit, tc.module, v, c, tc.want, tc.wantCommit)
		}
	}
}

// The date of man pages is that of the source, never today's.
func TestBuildDate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ set, vcs, module, want string }{
		{"2026-01-31", "2025-05-05T01:02:03Z", "v1.2.3", "2026-01-31"},
		{"", "2025-05-05T23:02:03-04:00", "(devel)", "2025-05-06"},
		{"", "", "v0.0.0-20240229101112-0123456789ab", "2024-02-29"},
		{"", "", "v1.2.4-0.20240301101112-0123456789ab", "2024-03-01"},
		{"", "", "v1.2.3", ""},
	} {
		read := func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: tc.module}, Settings: []debug.BuildSetting{{Key: "vcs.time", Value: tc.vcs}}}, true
		}
		if got := buildDate(tc.set, read); got != tc.want {
			t.Errorf("buildDate(%q) of %q, %q = %q, want %q", tc.set, tc.vcs, tc.module, got, tc.want)
		}
	}
}

func TestManCommand(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, int) {
		var out strings.Builder
		code := newApp(strings.NewReader(""), &out, io.Discard).run(t.Context(), args)
		return out.String(), code
	}
	date := buildDate(setDate, debug.ReadBuildInfo)
	for _, args := range [][]string{{"man"}, {"man", "search"}} {
		want := `.TH "` + strings.ToUpper(strings.Join(append([]string{"foldwatch"}, args[1:]...), `\-`)) + `" "1" "` + date + `"`
		if out, code := run(args...); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("%v: exit %d, %.80q, want it to begin with %q", args, code, out, want)
		}
	}
	if out, code := run("man", "dance"); code != 2 || out != "" {
		t.Errorf("man dance: exit %d, %q", code, out)
	}
}
