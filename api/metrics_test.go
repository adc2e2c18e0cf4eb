package api

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// manyStates is a status with everything that metrics tell of.
func manyStates() wire.Status {
	return wire.Status{
		Version: `1.2"3`, PID: 7, Ready: true, StartedAt: time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC),
		RSSBytes: 123456789, CPUSeconds: 1.5, Socket: "/home/ada/fw.sock",
		Counters: map[string]int64{"files_read": 12, "parses": 9, "embeds": 40, "embed_calls": 2, "vector_cache_hits": 3, "new one": 1},
		Notices:  []string{"a memory says hello"},
		Projects: []wire.ProjectStatus{
			{
				Slug: "app", Key: "00112233445566aa", Path: "/home/ada/src/app", State: "indexing", Watch: "events", Memories: 5, Chunks: 17, Vectors: 3, VectorsDue: 4,
				Links: 2, Queued: 1, Files: wire.FileCounts{Indexed: 8, Skipped: 2, Failed: 1, Stale: 1, Queued: 30}, ProblemCount: 3,
				Counters: map[string]int64{"files_read": 10, "parses": 9},
				JobTimes: []wire.JobTimes{{Type: "source", Ended: 3, Seconds: 0.25}, {Type: "sweep", Ended: 2, Failed: 1, Seconds: 61.5}},
				Problems: []wire.FileProblem{{Path: "secret/plan.txt", State: "failed", Reason: "read: permission denied"}},
			},
			{Slug: "odd\\\"\n\xff", Key: "ff", Path: "/mnt", State: "missing", Watch: "off", Counters: map[string]int64{"files_read": 2}},
		},
	}
}

// TestMetricsAreGolden holds the text for Prometheus byte for byte.
func TestMetricsAreGolden(t *testing.T) {
	t.Parallel()
	got := metricsText(manyStates())
	path := filepath.Join("testdata", "metrics.golden")
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("metrics are not %s; run with -update and review:\n%s", path, got)
	}
	for _, private := range []string{"/home", "ada", "/mnt", "plan", "hello", "denied"} {
		if bytes.Contains(got, []byte(private)) {
			t.Errorf("metrics tell %q", private)
		}
	}
}

// TestMetricsParse reads the text as Prometheus does: each metric is introduced
// once, by its help and type, before its samples, and no sample comes twice.
func TestMetricsParse(t *testing.T) {
	t.Parallel()
	for _, st := range []wire.Status{manyStates(), {}} {
		line := regexp.MustCompile(`^(foldwatch_[a-z0-9_]+)(\{([a-z]+="([^"\\\n]|\\[\\n"])*",?)+\})? -?[0-9.e+]+$`)
		kinds, seen, current := map[string]string{}, map[string]bool{}, ""
		for l := range strings.Lines(string(metricsText(st))) {
			l = strings.TrimSuffix(l, "\n")
			f := strings.Fields(l)
			switch {
			case strings.HasPrefix(l, "# HELP "):
				if current = f[2]; kinds[current] != "" || len(f) < 4 {
					t.Errorf("introduced again, or without help: %q", l)
				}
			case strings.HasPrefix(l, "# TYPE "):
				if f[2] != current {
					t.Errorf("type of %s after the help of %s", f[2], current)
				}
				kinds[current] = f[3]
			default:
				m := line.FindStringSubmatch(l)
				if m == nil {
					t.Errorf("not a sample: %q", l)
					continue
				}
				name := m[1]
				if kinds[current] == "summary" {
					name = strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
				}
				if name != current || (kinds[current] == "counter") != strings.HasSuffix(name, "_total") {
					t.Errorf("sample %q under %s, a %s", l, current, kinds[current])
				}
				if key := m[1] + m[2]; seen[key] {
					t.Errorf("twice: %s", key)
				} else {
					seen[key] = true
				}
			}
		}
	}
}
