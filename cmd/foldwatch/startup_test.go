package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ownStart is how many bytes our packages may allocate before main begins. Each command
// pays for it, also those that only ask the daemon something.
const ownStart = 300 << 10

// TestStartIsCheap: what only the daemon needs is made when it is needed. Bytes are
// counted, not time: a machine at work takes any time.
func TestStartIsCheap(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "foldwatch", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", goRace)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// init daemon/ingest @12 ms, 4.6 ms clock, 2330616 bytes, 31006 allocs
	of := regexp.MustCompile(`(?m)^init (main|github\.com/foldwatch/foldwatch/\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	var sum int
	var told []string
	for _, m := range of {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
		told = append(told, m[1]+" "+m[2])
	}
	if len(of) == 0 {
		t.Fatalf("no package tells what it made:\n%s", out)
	}
	if sum > ownStart {
		t.Errorf("%d bytes before main, want at most %d: %s", sum, ownStart, strings.Join(told, ", "))
	}
	t.Logf("%d bytes: %s", sum, strings.Join(told, ", "))
}
