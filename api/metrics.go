package api

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

// metrics tells the state in the text format of Prometheus.
func (s *Server) metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		st, err := s.doors.Status(r.Context(), scopeOf(r.Context()))
		if err != nil {
			writeProblem(w, s.tell("metrics", err, false).Problem)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(metricsText(st)) // the client left: nobody to tell
	})
}

func metricsText(st wire.Status) []byte {
	var b bytes.Buffer
	one := func(name, kind, help, labels string, v float64) {
		fmt.Fprintf(&b, "# HELP foldwatch_%s %s\n# TYPE foldwatch_%s %s\nfoldwatch_%s%s %s\n", name, help, name, kind, name, labels, number(v))
	}
	one("info", "gauge", "Always 1; the version stands in the label.", `{version=`+label(st.Version)+`}`, 1)
	ready := 0.0
	if st.Ready {
		ready = 1
	}
	one("ready", "gauge", "1 once searches are served.", "", ready)
	one("resident_memory_bytes", "gauge", "Resident memory.", "", float64(st.RSSBytes))
	one("cpu_seconds_total", "counter", "Processor time of the daemon and its workers.", "", st.CPUSeconds)
	for _, name := range slices.Sorted(maps.Keys(st.Counters)) {
		one(metricName(name)+"_total", "counter", "Since the start of the daemon.", "", float64(st.Counters[name]))
	}
	gauges := []struct {
		name, help string
		of         func(wire.ProjectStatus) float64
	}{
		{"project_up", "1 if the project is served.", func(p wire.ProjectStatus) float64 {
			if p.State == "failed" || p.State == "missing" {
				return 0
			}
			return 1
		}},
		{"memories", "Memories.", func(p wire.ProjectStatus) float64 { return float64(p.Memories) }},
		{"chunks", "Chunks of source files.", func(p wire.ProjectStatus) float64 { return float64(p.Chunks) }},
		{"vectors", "Vectors.", func(p wire.ProjectStatus) float64 { return float64(p.Vectors) }},
		{"links", "Links between memories.", func(p wire.ProjectStatus) float64 { return float64(p.Links) }},
		{"queued_jobs", "Jobs waiting or running.", func(p wire.ProjectStatus) float64 { return float64(p.Queued) }},
		{"files_indexed", "Files that are indexed.", func(p wire.ProjectStatus) float64 { return float64(p.Files.Indexed) }},
		{"files_stale", "Files that differ from what their memory describes.", func(p wire.ProjectStatus) float64 { return float64(p.Files.Stale) }},
		{"files_skipped", "Files passed over.", func(p wire.ProjectStatus) float64 { return float64(p.Files.Skipped) }},
		{"files_failed", "Files that could not be indexed.", func(p wire.ProjectStatus) float64 { return float64(p.Files.Failed) }},
		{"problems", "Files set aside or failed.", func(p wire.ProjectStatus) float64 { return float64(p.ProblemCount) }},
	}
	for _, g := range gauges {
		if len(st.Projects) == 0 {
			break
		}
		fmt.Fprintf(&b, "# HELP foldwatch_%s %s\n# TYPE foldwatch_%s gauge\n", g.name, g.help, g.name)
		for _, p := range st.Projects {
			fmt.Fprintf(&b, "foldwatch_%s{project=%s,checkout=%s} %s\n", g.name, label(p.Slug), label(p.Path), number(g.of(p)))
		}
	}
	return b.Bytes()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// label quotes a label value: backslash, quote and line feed are escaped.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}

func metricName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}
