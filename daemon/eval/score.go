package eval

import "math"

// Depth is how many results of a ranking are looked at.
const Depth = 20

// Lines a result may have beyond what it is to find: spanFactor times as many,
// and spanSlack more, so that whole files earn nothing.
const (
	spanFactor = 4
	spanSlack  = 40
)

// Scores are the figures of one ranking, or the difference of two. All are in
// [0, 1], or [-1, 1].
type Scores struct {
	NDCG10   float64 // gain 1 for each target, at its first result
	MRR10    float64 // 1/rank of the first result that is a target
	Recall5  float64 // share of the targets among the first 5 results
	Recall10 float64
	Recall20 float64
}

// Minus returns s - o.
func (s Scores) Minus(o Scores) Scores {
	return Scores{s.NDCG10 - o.NDCG10, s.MRR10 - o.MRR10, s.Recall5 - o.Recall5, s.Recall10 - o.Recall10, s.Recall20 - o.Recall20}
}

// Finds reports whether the result called name finds t: the memory, the file,
// or at least half of its lines without being much longer.
func (t Target) Finds(name string) bool {
	if t.ID != "" {
		return name == t.ID
	}
	path, start, end := ParseSpan(name)
	switch {
	case path != t.Path:
		return false
	case t.Start == 0:
		return true
	case start == 0:
		return false
	}
	lines := t.End - t.Start + 1
	common := min(end, t.End) - max(start, t.Start) + 1
	return common > 0 && 2*common >= lines && end-start+1 <= spanFactor*lines+spanSlack
}

// distinct returns names without repetitions, cut to their paths where files
// are looked for.
func distinct(names []string, files bool) []string {
	seen := make(map[string]bool, len(names))
	var out []string
	for _, n := range names {
		if files {
			n, _, _ = ParseSpan(n)
		}
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// Score returns the figures of one ranking for q. A result that finds several
// targets has them all but gains once; a target that was found is found.
func (q Query) Score(names []string) Scores { return q.score(names, q.Files()) }

func (q Query) score(names []string, files bool) Scores {
	var s Scores
	if len(q.Rel) == 0 {
		return s
	}
	names = distinct(names, files)
	found, n, gain := make([]bool, len(q.Rel)), 0, 0.0
	for i := range Depth {
		if i < len(names) {
			hit := false
			for k, t := range q.Rel {
				if !found[k] && t.Finds(names[i]) {
					found[k], hit = true, true
					n++
				}
			}
			if hit && i < 10 {
				gain += discount(i)
				if s.MRR10 == 0 {
					s.MRR10 = 1 / float64(i+1)
				}
			}
		}
		share := float64(n) / float64(len(q.Rel))
		switch i {
		case 4:
			s.Recall5 = share
		case 9:
			s.Recall10 = share
		case 19:
			s.Recall20 = share
		}
	}
	ideal := 0.0
	for i := range min(len(q.Rel), 10) {
		ideal += discount(i)
	}
	s.NDCG10 = min(1, gain/ideal)
	return s
}

// discount is that of the result at place i from 0 (Järvelin & Kekäläinen, TOIS
// 2002).
func discount(i int) float64 { return 1 / math.Log2(float64(i)+2) }
