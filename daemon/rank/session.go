package rank

// neighbourShare is how much a term of the memory before or after counts, compared with
// one of the memory itself (retrieval.md 2, set d).
const neighbourShare = .3

// setSessionFeatures sets the features that memories get from others of their session: an
// answer stands as often next to the words of the question as among them. A memory without
// a place is a session of its own.
func setSessionFeatures(rows []Sample, hits []Hit, places map[string]Place) {
	if !anyPlaced(rows, places) {
		for i := range rows {
			v := &rows[i].Values
			v[Window], v[Session] = v[Words], v[Words]
		}
		return
	}
	hit := make(map[string]*Hit, len(hits))
	for i := range hits {
		hit[hits[i].Key] = &hits[i]
	}
	at := make(map[Place]*Hit, len(hits))
	members := map[string][]float64{}
	for i := range rows {
		key := "m:" + rows[i].Key
		if p, ok := places[key]; ok {
			members[p.Group] = append(members[p.Group], rows[i].Values[Words])
			if h := hit[key]; h != nil {
				at[p] = h
			}
		}
	}
	tops := make(map[string]float64, len(members))
	for group, scores := range members {
		tops[group] = TopSum(scores)
	}
	for i := range rows {
		v, key := &rows[i].Values, "m:"+rows[i].Key
		v[Window], v[Session] = v[Words], v[Words]
		p, ok := places[key]
		if !ok {
			continue
		}
		v[Session] = tops[p.Group]
		before, after := at[Place{p.Group, p.Ordinal - 1}], at[Place{p.Group, p.Ordinal + 1}]
		v[Window] = max(v[Window], window(hit[key], before, after))
	}
}

// anyPlaced reports whether one of rows has a place in a session.
func anyPlaced(rows []Sample, places map[string]Place) bool {
	for i := range rows {
		if _, ok := places["m:"+rows[i].Key]; ok {
			return true
		}
	}
	return false
}

// window is BM25F over a memory and parts of its neighbours, each of which may be
// nil, as a share of what it is at most.
func window(own, before, after *Hit) float64 {
	score, ideal := 0.0, 0.0
	for term := 0; ; term++ {
		count, worth, k1, any := 0.0, 0.0, 0.0, false
		for i, h := range [...]*Hit{own, before, after} {
			if h == nil || term >= len(h.Terms) {
				continue
			}
			any, worth, k1, ideal = true, h.Terms[term].Worth, h.K1, h.Ideal
			if i == 0 {
				count += h.Terms[term].Count
			} else {
				count += neighbourShare * h.Terms[term].Count
			}
		}
		if !any {
			break
		}
		if count > 0 {
			score += worth * count / (k1 + count)
		}
	}
	if ideal > 0 {
		return score / ideal
	}
	return score
}
