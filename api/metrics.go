package api

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

// metrics serves the state in the text format of Prometheus.
func (s *Server) metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		st, err := s.handlers.Status(r.Context(), scopeOf(r.Context()))
		if err != nil {
			writeProblem(w, s.problemOf(r.Context(), "metrics", err, false).Problem)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(metricsText(st)) // the client left: nobody to tell
	})
}

// counterHelp returns what the counters count, by their names in the status.
func counterHelp() map[string]string {
	return map[string]string{
		"files_read":              "Source files that were read.",
		"bytes_read":              "Bytes of source that were read.",
		"parses":                  "Files that were cut anew.",
		"chunk_cache_hits":        "Files whose chunks were in the cache.",
		"stats":                   "Files that were looked at without being read.",
		"described":               "Memory files that were made of source files.",
		"describes":               "Descriptions of source files that were made for the index only.",
		"names_read":              "Memories read for what links by name lead to.",
		"index_operations":        "Changes of the index, each one transaction.",
		"rows_read":               "Memories, and lists of their chunks, that were read back for a change or for vectors.",
		"documents_put":           "Documents put into the text index.",
		"git_processes":           "Starts of the git program.",
		"fold_scans":              "Comparisons of all of fold/ with its history.",
		"chunk_comparisons":       "Memories whose chunks were compared with those of others.",
		"commits":                 "Commits to the history of the memories.",
		"events":                  "Events that were sent.",
		"event_listeners_dropped": "Listeners of events that did not keep up.",
		"embeds":                  "Texts that were embedded.",
		"embed_calls":             "Calls of the embedder.",
		"vector_cache_hits":       "Texts whose vectors were in the cache.",
		"parser_crashes":          "Parser processes that ended while they parsed.",
		"parser_timeouts":         "Parser processes that were ended because they took too long.",
		"parser_restarts":         "Parser processes that were replaced.",
	}
}

// A family is one metric with all its samples.
type family struct {
	name, kind, help string // name without the prefix
	samples          []sample
}

type sample struct {
	suffix string // of a summary: _sum, _count
	labels string // as written, with braces; "" for none
	value  float64
}

func one(name, kind, help, labels string, v float64) family {
	return family{name, kind, help, []sample{{"", labels, v}}}
}

// metricsText returns the metrics of st. Labels name projects and checkouts by slug and
// key: they contain no path and no text of a memory. Counters of each checkout have no
// sample for all checkouts, so that they can be summed up.
func metricsText(st wire.Status) []byte {
	all := []family{
		one("info", "gauge", "Always 1; the version stands in the label.", `{version=`+label(st.Version)+`}`, 1),
		one("ready", "gauge", "1 once searches are served.", "", boolValue(st.Ready)),
		one("start_time_seconds", "gauge", "When the daemon was started, in seconds since 1970.", "", float64(st.StartedAt.UnixMilli())/1000),
		one("resident_memory_bytes", "gauge", "Resident memory of the daemon.", "", float64(st.RSSBytes)),
		one("cpu_seconds_total", "counter", "Processor time of the daemon and its workers.", "", st.CPUSeconds),
	}
	all = append(all, counterFamilies(st)...)
	all = append(all, gaugeFamilies(st.Projects)...)
	all = append(all, jobFamilies(st.Projects)...)
	var b bytes.Buffer
	for _, f := range all {
		if len(f.samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP foldwatch_%s %s\n# TYPE foldwatch_%s %s\n", f.name, f.help, f.name, f.kind)
		for _, s := range f.samples {
			fmt.Fprintf(&b, "foldwatch_%s%s%s %s\n", f.name, s.suffix, s.labels, formatValue(s.value))
		}
	}
	return b.Bytes()
}

// counterFamilies are the counters of all checkouts and, without labels, those of shared
// parts.
func counterFamilies(st wire.Status) []family {
	help := counterHelp()
	perCheckout := map[string]bool{}
	for _, p := range st.Projects {
		for name := range p.Counters {
			perCheckout[name] = true
		}
	}
	var all []family
	for _, name := range slices.Sorted(maps.Keys(st.Counters)) {
		f := family{name: metricName(name) + "_total", kind: "counter", help: cmp.Or(help[name], "Since the start of the daemon.")}
		if perCheckout[name] {
			for _, p := range st.Projects {
				f.samples = append(f.samples, sample{"", checkoutLabels(p), float64(p.Counters[name])})
			}
		} else {
			f.samples = []sample{{"", "", float64(st.Counters[name])}}
		}
		all = append(all, f)
	}
	return all
}

func gaugeFamilies(projects []wire.ProjectStatus) []family {
	count := func(v func(wire.ProjectStatus) int) func(wire.ProjectStatus) float64 {
		return func(p wire.ProjectStatus) float64 { return float64(v(p)) }
	}
	var all []family
	for _, g := range []struct {
		name, help string
		of         func(wire.ProjectStatus) float64
	}{
		{"project_up", "1 if the project is served.", func(p wire.ProjectStatus) float64 { return boolValue(p.State != "failed" && p.State != "missing") }},
		{"indexing", "1 while all files are compared with the index.", func(p wire.ProjectStatus) float64 { return boolValue(p.State == "indexing") }},
		{"memories", "Memories.", count(func(p wire.ProjectStatus) int { return p.Memories })},
		{"chunks", "Chunks of source files.", count(func(p wire.ProjectStatus) int { return p.Chunks })},
		{"vectors", "Vectors.", count(func(p wire.ProjectStatus) int { return p.Vectors })},
		{"vectors_due", "Memories whose vectors are still to come.", count(func(p wire.ProjectStatus) int { return p.VectorsDue })},
		{"links", "Links between memories.", count(func(p wire.ProjectStatus) int { return p.Links })},
		{"queued_jobs", "Jobs that wait or run and will change what searches find.", count(func(p wire.ProjectStatus) int { return p.Queued })},
		{"files_indexed", "Files that are indexed.", count(func(p wire.ProjectStatus) int { return p.Files.Indexed })},
		{"files_queued", "Files that an index run has still to store.", count(func(p wire.ProjectStatus) int { return p.Files.Queued })},
		{"files_stale", "Files that differ from what their memory describes.", count(func(p wire.ProjectStatus) int { return p.Files.Stale })},
		{"files_skipped", "Files passed over.", count(func(p wire.ProjectStatus) int { return p.Files.Skipped })},
		{"files_failed", "Files that could not be indexed.", count(func(p wire.ProjectStatus) int { return p.Files.Failed })},
		{"problems", "Files of which not all is indexed, for whatever reason.", count(func(p wire.ProjectStatus) int { return p.ProblemCount })},
	} {
		f := family{name: g.name, kind: "gauge", help: g.help}
		for _, p := range projects {
			f.samples = append(f.samples, sample{"", checkoutLabels(p), g.of(p)})
		}
		all = append(all, f)
	}
	watch := family{name: "watch_mode", kind: "gauge", help: "1 for how changes are noticed: events, polling or off."}
	for _, p := range projects {
		for _, mode := range []string{"events", "polling", "off"} {
			watch.samples = append(watch.samples, sample{"", checkoutLabels(p, "mode", mode), boolValue(p.Watch == mode)})
		}
	}
	return append(all, watch)
}

func jobFamilies(projects []wire.ProjectStatus) []family {
	took := family{name: "job_seconds", kind: "summary", help: "Attempts of jobs that have ended, and how long they took in all."}
	failed := family{name: "job_failures_total", kind: "counter", help: "Attempts of jobs that failed, to be tried again or not."}
	for _, p := range projects {
		for _, j := range p.JobTimes {
			labels := checkoutLabels(p, "type", j.Type)
			took.samples = append(took.samples, sample{"_sum", labels, j.Seconds}, sample{"_count", labels, float64(j.Ended)})
			failed.samples = append(failed.samples, sample{"", labels, float64(j.Failed)})
		}
	}
	return []family{took, failed}
}

// shownKeyLen is how much of a checkout's key tells it from others.
const shownKeyLen = 8

// checkoutLabels returns the labels of a checkout, followed by more pairs.
func checkoutLabels(p wire.ProjectStatus, more ...string) string {
	pairs := []string{"project=" + label(p.Slug), "checkout=" + label(p.Key[:min(len(p.Key), shownKeyLen)])}
	for i := 0; i+1 < len(more); i += 2 {
		pairs = append(pairs, more[i]+"="+label(more[i+1]))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func formatValue(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

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
