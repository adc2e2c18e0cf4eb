package eval

import (
	"fmt"
	"slices"
)

// A WayReport holds the figures of one way of search. Gains are over words alone.
type WayReport struct {
	Way  string      `json:"way"`
	Sets []SetReport `json:"sets"`
}

// Table prints a line for each set, way of search and corpus.
func Table(printf func(format string, args ...any), ways []WayReport) {
	var sets []string
	for _, w := range ways {
		for _, s := range w.Sets {
			if !slices.Contains(sets, s.Set) {
				sets = append(sets, s.Set)
			}
		}
	}
	slices.Sort(sets)
	for i, set := range sets {
		if i > 0 {
			printf("\n")
		}
		printf("set %s%*s  %-21s %-21s %-10s %-10s %-10s  %s\n", set, 22, "questions", "nDCG@10", "MRR@10", "R@5", "R@10", "R@20", "nDCG@10 over words")
		for _, w := range ways {
			for _, s := range w.Sets {
				if s.Set != set {
					continue
				}
				for _, repo := range s.Repos {
					figuresLine(printf, w.Way+" "+repo.Repo, repo.Queries, repo.Figures, repo.Gain)
				}
				if len(s.Repos) > 1 {
					figuresLine(printf, w.Way+" MACRO", s.Queries, s.Macro, s.Gain)
				}
				for _, c := range s.Categories {
					figuresLine(printf, fmt.Sprintf("%s category %d", w.Way, c.Category), c.Queries, c.Figures, nil)
				}
				if s.Sessions != nil {
					figuresLine(printf, w.Way+" sessions", s.Queries, *s.Sessions, nil)
				}
			}
		}
	}
}

func figuresLine(printf func(string, ...any), name string, n int, f Figures, gain *Figures) {
	more := ""
	if gain != nil {
		more = "  " + signed(gain.NDCG10)
	}
	printf("  %-22s %4d  %-21s %-21s %s %s %s%s\n", name, n, interval(f.NDCG10), interval(f.MRR10),
		around(f.Recall5), around(f.Recall10), around(f.Recall20), more)
}

func interval(in Interval) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", in.Mean, in.Low, in.High)
}

// around is an interval in few columns: the mean, and how far the farther bound is.
func around(in Interval) string {
	return fmt.Sprintf("%.3f ±%.2f", in.Mean, max(in.High-in.Mean, in.Mean-in.Low))
}

func signed(in Interval) string {
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", in.Mean, in.Low, in.High)
}
