package eval

import (
	"cmp"
	"maps"
	"math/rand"
	"slices"
	"strings"
)

// An Interval is a mean with the bounds of its 95 % bootstrap interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// draws of the bootstrap, and the places of its bounds among them.
const (
	draws    = 2000
	lowDraw  = draws / 40
	highDraw = draws - draws/40 - 1
)

// Macro returns the mean over groups of the groups' means. The interval is that
// of draws with replacement inside each group; the same values give the same
// interval on every machine.
func Macro(groups [][]float64) Interval {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g []float64) bool { return len(g) == 0 })
	if len(groups) == 0 {
		return Interval{}
	}
	var in Interval
	for _, g := range groups {
		sum := 0.0
		for _, v := range g {
			sum += v
		}
		in.Mean += sum / float64(len(g))
	}
	in.Mean /= float64(len(groups))
	random := rand.New(rand.NewSource(1))
	means := make([]float64, draws)
	for i := range means {
		for _, g := range groups {
			sum := 0.0
			for range g {
				sum += g[random.Intn(len(g))]
			}
			means[i] += sum / float64(len(g))
		}
		means[i] /= float64(len(groups))
	}
	slices.Sort(means)
	in.Low, in.High = means[lowDraw], means[highDraw]
	return in
}

// Figures are the intervals of every score.
type Figures struct {
	NDCG10   Interval `json:"ndcg_10"`
	MRR10    Interval `json:"mrr_10"`
	Recall5  Interval `json:"recall_5"`
	Recall10 Interval `json:"recall_10"`
	Recall20 Interval `json:"recall_20"`
}

// figures returns the macro mean over groups of scores.
func figures(groups [][]Scores) Figures {
	of := func(get func(Scores) float64) Interval {
		values := make([][]float64, len(groups))
		for i, g := range groups {
			for _, s := range g {
				values[i] = append(values[i], get(s))
			}
		}
		return Macro(values)
	}
	return Figures{
		NDCG10:   of(func(s Scores) float64 { return s.NDCG10 }),
		MRR10:    of(func(s Scores) float64 { return s.MRR10 }),
		Recall5:  of(func(s Scores) float64 { return s.Recall5 }),
		Recall10: of(func(s Scores) float64 { return s.Recall10 }),
		Recall20: of(func(s Scores) float64 { return s.Recall20 }),
	}
}

// A SetReport holds the figures of one set.
type SetReport struct {
	Set     string       `json:"set"`
	Queries int          `json:"queries"`
	Repos   []RepoReport `json:"repos"`
	// Macro is the mean over repos, which all count the same.
	Macro Figures `json:"macro"`
	// Gain is the paired difference to the base, nil where there is none.
	Gain *Figures `json:"gain,omitempty"`
	// Categories are the figures by category of the questions, and Sessions those
	// of finding the session instead of the turn, all questions counting the same.
	// Nil where the set knows none.
	Categories []CategoryReport `json:"categories,omitempty"`
	Sessions   *Figures         `json:"sessions,omitempty"`
	// Missing questions have no line in the run; they count 0.
	Missing int `json:"missing,omitempty"`
}

// A RepoReport holds the figures of the questions asked of one corpus.
type RepoReport struct {
	Repo    string   `json:"repo"`
	Queries int      `json:"queries"`
	Figures Figures  `json:"figures"`
	Gain    *Figures `json:"gain,omitempty"`
}

// A CategoryReport holds the figures of the questions of one category, of all
// corpora together.
type CategoryReport struct {
	Category int     `json:"category"`
	Queries  int     `json:"queries"`
	Figures  Figures `json:"figures"`
}

// ReportOptions of [Report].
type ReportOptions struct {
	Base   Run  // what run is compared with; nil for nothing
	ByFile bool // count a result by its path alone, also where lines are asked for
}

// Report scores run, by set and corpus, both in the order of their names.
func Report(questions []Query, run Run, opt ReportOptions) []SetReport {
	type key struct{ set, repo string }
	scores, gains, missing := map[key][]Scores{}, map[key][]Scores{}, map[string]int{}
	var keys []key
	for _, q := range questions {
		files := q.Files() || opt.ByFile
		if opt.ByFile {
			rel := make([]Target, len(q.Rel))
			for i, t := range q.Rel {
				rel[i] = Target{Path: t.Path, ID: t.ID}
			}
			q.Rel = rel
		}
		k := key{q.Set, q.Repo}
		if scores[k] == nil {
			keys = append(keys, k)
		}
		names, ok := run[q.QID]
		if !ok {
			missing[q.Set]++
		}
		s := q.score(names, files)
		scores[k] = append(scores[k], s)
		if opt.Base != nil {
			gains[k] = append(gains[k], s.Minus(q.score(opt.Base[q.QID], files)))
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.repo, b.repo)) })
	var out []SetReport
	for len(keys) > 0 {
		set := keys[0].set
		r := SetReport{Set: set, Missing: missing[set]}
		var all, diff [][]Scores
		for ; len(keys) > 0 && keys[0].set == set; keys = keys[1:] {
			k := keys[0]
			repo := RepoReport{Repo: k.repo, Queries: len(scores[k]), Figures: figures([][]Scores{scores[k]})}
			all = append(all, scores[k])
			if opt.Base != nil {
				f := figures([][]Scores{gains[k]})
				repo.Gain, diff = &f, append(diff, gains[k])
			}
			r.Queries += repo.Queries
			r.Repos = append(r.Repos, repo)
		}
		r.Macro = figures(all)
		if opt.Base != nil {
			f := figures(diff)
			r.Gain = &f
		}
		r.Categories, r.Sessions = pooled(set, questions, run)
		out = append(out, r)
	}
	return out
}

// pooled returns the figures by category of the questions of a set, and those of
// its sessions: a session stands where its first turn does.
func pooled(set string, questions []Query, run Run) (categories []CategoryReport, sessions *Figures) {
	byCategory := map[int][]Scores{}
	var all []Scores
	for _, q := range questions {
		if q.Set != set || q.Cat == 0 {
			continue
		}
		byCategory[q.Cat] = append(byCategory[q.Cat], q.Score(run[q.QID]))
		s := Query{Set: q.Set}
		for _, t := range q.Rel {
			if t = (Target{ID: sessionOf(t.ID)}); !slices.Contains(s.Rel, t) {
				s.Rel = append(s.Rel, t)
			}
		}
		names := make([]string, len(run[q.QID]))
		for i, n := range run[q.QID] {
			names[i] = sessionOf(n)
		}
		all = append(all, s.Score(names))
	}
	if len(all) == 0 {
		return nil, nil
	}
	for _, c := range slices.Sorted(maps.Keys(byCategory)) {
		s := byCategory[c]
		categories = append(categories, CategoryReport{c, len(s), figures([][]Scores{s})})
	}
	f := figures([][]Scores{all})
	return categories, &f
}

// sessionOf returns the session of a turn: conv-26/D1 of conv-26/D1:3.
func sessionOf(turn string) string {
	if i := strings.LastIndexByte(turn, ':'); i >= 0 {
		return turn[:i]
	}
	return turn
}
