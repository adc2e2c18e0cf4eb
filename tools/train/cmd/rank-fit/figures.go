package main

import (
	"fmt"

	"github.com/foldwatch/foldwatch/daemon/eval"
)

// figures compares three rankings for the questions of lists: lines holds one for
// each set and repository and one for each set's mean, macro a sentence for each set.
func figures(lists []list, r runs) (lines, macro []string) {
	asked := questions(lists)
	base := eval.Report(asked, r.bm25, eval.ReportOptions{})
	out := eval.Report(asked, r.heldOut, eval.ReportOptions{Base: r.bm25})
	in := eval.Report(asked, r.fitted, eval.ReportOptions{})
	figure := func(f eval.Figures) string { return fmt.Sprintf("%.3f (%.3f)", f.NDCG10.Mean, f.Recall10.Mean) }
	for i, set := range out {
		for k, repo := range set.Repos {
			lines = append(lines, fmt.Sprintf("%s %-14s %4d  %s  %s [%.3f, %.3f]  %s", set.Set, repo.Repo, repo.Queries,
				figure(base[i].Repos[k].Figures), figure(repo.Figures), repo.Figures.NDCG10.Low, repo.Figures.NDCG10.High, figure(in[i].Repos[k].Figures)))
		}
		lines = append(lines, fmt.Sprintf("%s %-14s %4d  %s  %s [%.3f, %.3f], %+.3f [%+.3f, %+.3f]  %s", set.Set, "mean", set.Queries,
			figure(base[i].Macro), figure(set.Macro), set.Macro.NDCG10.Low, set.Macro.NDCG10.High,
			set.Gain.NDCG10.Mean, set.Gain.NDCG10.Low, set.Gain.NDCG10.High, figure(in[i].Macro)))
		macro = append(macro, fmt.Sprintf("Held out, set %s: nDCG@10 %.3f [%.3f, %.3f], recall@10 %.3f; by BM25 alone %.3f.", set.Set,
			set.Macro.NDCG10.Mean, set.Macro.NDCG10.Low, set.Macro.NDCG10.High, set.Macro.Recall10.Mean, base[i].Macro.NDCG10.Mean))
	}
	return lines, macro
}

func questions(lists []list) []eval.Query {
	out := make([]eval.Query, len(lists))
	for i := range lists {
		out[i] = lists[i].question
	}
	return out
}
