package apitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Conformance is the official suite of the protocol, as make conformance
// installs it.
type Conformance struct{ modules string }

// FindConformance returns the suite in bin/npm of the checkout, whose top is
// given relative to the package under test. Where it is not installed, or not
// asked for, the test is skipped.
func FindConformance(t *testing.T, top string) Conformance {
	t.Helper()
	if os.Getenv("FOLDWATCH_CONFORMANCE") == "" {
		t.Skip("SKIP: make conformance runs this")
	}
	modules, err := filepath.Abs(filepath.Join(top, "bin", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"conformance", "node"} {
		if _, err := os.Stat(filepath.Join(modules, ".bin", name)); err != nil {
			t.Skipf("SKIP: the conformance suite is not installed (make conformance does it): %v", err)
		}
	}
	return Conformance{modules}
}

// Required returns the scenarios that a revision requires of a server: the list
// below "server:" of a file of the suite.
func (c Conformance) Required(t *testing.T, revision string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.modules, "@modelcontextprotocol", "conformance", "requirements", revision+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\nserver:\n")
	var out []string
	for line := range strings.Lines(rest) {
		name, ok := strings.CutPrefix(line, "  - ")
		if !ok {
			break
		}
		out = append(out, strings.TrimSpace(name))
	}
	return out
}

// Run runs all that a revision requires, and what it does not score, against
// the server at url. It returns the scenarios that passed, with something to
// pass, what the suite printed, and its verdict.
func (c Conformance) Run(t *testing.T, url, revision string) (passed map[string]bool, printed string, verdict error) {
	t.Helper()
	bin := filepath.Join(c.modules, ".bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "conformance"), "server", "--url", url, "--requirements", revision)
	cmd.Dir = t.TempDir() // it leaves its results there
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	out, verdict := cmd.CombinedOutput()
	passed = map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^✓ (\S+): [1-9][0-9]* passed, 0 failed`).FindAllSubmatch(out, -1) {
		passed[string(m[1])] = true
	}
	return passed, string(out), verdict
}
