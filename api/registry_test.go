package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestRegistryOfCodes holds the one table of codes, which REST, MCP and the
// command line tell errors by: it is complete, and the manual explains each row.
func TestRegistryOfCodes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../cmd/foldwatch/help/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			rows[name] = rest
		}
	}
	for _, k := range wire.Codes() {
		status := fmt.Sprint(k.Status)
		if k.Also != 0 {
			status += fmt.Sprintf(", %d", k.Also)
		}
		want := fmt.Sprintf("%s | %d | ", status, k.Exit)
		if !strings.HasPrefix(rows[k.Code], want) {
			t.Errorf("help/programs.md has no row | `%s` | %s: %q", k.Code, want, rows[k.Code])
		}
		if k.Title == "" || k.Status < 400 || k.Exit < 1 || k.Err == nil && k.Code != "internal" {
			t.Errorf("row is not complete: %+v", k)
		}
		if got := wire.NewProblem(k.Err); k.Err != nil && (got.Code != k.Code || got.Type != "urn:foldwatch:problem:"+k.Code) {
			t.Errorf("%s is told as %+v", k.Code, got)
		}
	}
}
