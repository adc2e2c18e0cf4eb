package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/recall"
)

// A Way is one choice of channels, and what it is called.
type Way struct {
	name     string
	channels recall.Channels
	sets     string // that it is asked of; "" means all
}

// Ways are what is compared. The last is what everybody gets.
func Ways(history bool) []Way {
	ws := []Way{{name: "words", channels: recall.Channels{recall.Words}}, {name: "vectors", channels: recall.Channels{recall.Vectors}}}
	if history {
		ws = append(ws,
			Way{name: "commits", channels: recall.Channels{recall.Commits}, sets: "a"},
			Way{name: "no-history", channels: recall.Channels{recall.Words, recall.Vectors}, sets: "a"})
	}
	return append(ws, Way{name: "blend"})
}

// AskOptions of [Searcher.AskAll].
type AskOptions struct {
	ByFile bool   // a place counts by its file alone
	Out    string // folder for a run file of each set and way; "" for none
	// Progress is told how many questions a way of search has been asked; nil for nobody.
	Progress func(way string, done, total int)
}

// AskAll asks all questions in all ways.
func (s *Searcher) AskAll(ctx context.Context, questions []eval.Query, ways []Way, opt AskOptions) ([]eval.WayReport, error) {
	if opt.Progress == nil {
		opt.Progress = func(string, int, int) {}
	}
	var out []eval.WayReport
	var words eval.Run
	for _, w := range ways {
		qs := questions
		if w.sets != "" {
			qs = slices.DeleteFunc(slices.Clone(qs), func(q eval.Query) bool { return !strings.Contains(w.sets, q.Set) })
		}
		if len(qs) == 0 {
			continue
		}
		run, err := s.Run(ctx, qs, w.channels, func(done int) { opt.Progress(w.name, done, len(qs)) })
		if err != nil {
			return nil, err
		}
		if words == nil {
			words = run
		}
		by := eval.ReportOptions{ByFile: opt.ByFile}
		if len(out) > 0 {
			by.Base = words
		}
		out = append(out, eval.WayReport{Way: w.name, Sets: eval.Report(qs, run, by)})
		if opt.Out != "" {
			if err := writeRuns(opt.Out, w.name, run, qs); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// writeRuns writes a run file for each set, for the sets' own scorer.
func writeRuns(dir, way string, run eval.Run, questions []eval.Query) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for len(questions) > 0 {
		set := questions[0].Set
		n := slices.IndexFunc(questions, func(q eval.Query) bool { return q.Set != set })
		if n < 0 {
			n = len(questions)
		}
		f, err := os.Create(filepath.Join(dir, set+"-"+way+".jsonl"))
		if err != nil {
			return err
		}
		if err := errors.Join(run.Write(f, questions[:n]), f.Close()); err != nil {
			return err
		}
		questions = questions[n:]
	}
	return nil
}
