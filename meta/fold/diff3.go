package fold

import "slices"

// hunk is one piece of a three-way comparison of lines. Where all three agree,
// or only one side changed, there is nothing to decide.
type hunk struct {
	base, ours, theirs []string
}

// merged returns the lines of h if nothing is in dispute.
func (h hunk) merged() ([]string, bool) {
	switch {
	case slices.Equal(h.ours, h.theirs), slices.Equal(h.base, h.theirs):
		return h.ours, true
	case slices.Equal(h.base, h.ours):
		return h.theirs, true
	}
	return nil, false
}

// diff3 cuts three texts into hunks whose concatenation is each of the texts.
// Swapping ours and theirs swaps them in every hunk and changes nothing else.
func diff3(base, ours, theirs []string) []hunk {
	toOurs, toTheirs := matchLines(base, ours), matchLines(base, theirs)
	var hunks []hunk
	var at, o, t int // how far each text has been consumed
	for at < len(base) || o < len(ours) || t < len(theirs) {
		// The stable run: lines that both sides kept, without a gap.
		n := 0
		for at+n < len(base) && toOurs[at+n] == o+n && toTheirs[at+n] == t+n {
			n++
		}
		if n > 0 {
			same := base[at : at+n]
			hunks = append(hunks, hunk{same, same, same})
			at, o, t = at+n, o+n, t+n
			continue
		}
		// The unstable one: up to the next line that both sides kept.
		next := at
		for next < len(base) && (toOurs[next] < 0 || toTheirs[next] < 0) {
			next++
		}
		endO, endT := len(ours), len(theirs)
		if next < len(base) {
			endO, endT = toOurs[next], toTheirs[next]
		}
		hunks = append(hunks, hunk{base[at:next], ours[o:endO], theirs[t:endT]})
		at, o, t = next, endO, endT
	}
	return hunks
}

// matchLines returns, for each line of a, the line of b it became, or -1. The
// pairs ascend in both. The lines both have once are paired first, longest
// ascending run (patience diff: Cohen, 2003); what lies between is compared in
// full while it is small.
func matchLines(a, b []string) []int {
	match := make([]int, len(a))
	for i := range match {
		match[i] = -1
	}
	matchRange(a, b, 0, 0, match, 0)
	return match
}

const (
	// maxTable bounds the table of one full comparison, in cells of 4 bytes.
	maxTable = 1 << 20
	// maxNested is how often pairing may start anew between its own pairs.
	maxNested = 64
)

func matchRange(a, b []string, offA, offB int, match []int, depth int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		match[offA] = offB
		a, b, offA, offB = a[1:], b[1:], offA+1, offB+1
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		match[offA+len(a)-1] = offB + len(b) - 1
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return
	}
	if pairs := uniquePairs(a, b); len(pairs) > 0 && depth < maxNested {
		fromA, fromB := 0, 0
		for _, p := range append(pairs, [2]int{len(a), len(b)}) {
			matchRange(a[fromA:p[0]], b[fromB:p[1]], offA+fromA, offB+fromB, match, depth+1)
			if p[0] < len(a) {
				match[offA+p[0]] = offB + p[1]
			}
			fromA, fromB = p[0]+1, p[1]+1
		}
		return
	}
	if len(a)*len(b) <= maxTable {
		matchTable(a, b, offA, offB, match)
	}
}

// uniquePairs pairs the lines that a and b both have exactly once and returns
// the longest run of pairs that ascends in both.
func uniquePairs(a, b []string) [][2]int {
	type count struct{ inA, inB, atA, atB int }
	counts := make(map[string]*count, len(a))
	for i, s := range a {
		c := counts[s]
		if c == nil {
			c = &count{}
			counts[s] = c
		}
		c.inA++
		c.atA = i
	}
	for i, s := range b {
		if c := counts[s]; c != nil {
			c.inB++
			c.atB = i
		}
	}
	var pairs [][2]int
	for i, s := range a {
		if c := counts[s]; c.inA == 1 && c.inB == 1 {
			pairs = append(pairs, [2]int{i, c.atB})
		}
	}
	return ascending(pairs)
}

// ascending returns the longest subsequence of pairs whose second parts ascend
// (patience sorting).
func ascending(pairs [][2]int) [][2]int {
	var tops []int // index of the pair on top of each pile
	prev := make([]int, len(pairs))
	for i, p := range pairs {
		pile, _ := slices.BinarySearchFunc(tops, p[1], func(top, want int) int { return pairs[top][1] - want })
		prev[i] = -1
		if pile > 0 {
			prev[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	run := make([][2]int, len(tops))
	for k, i := len(tops)-1, tops[len(tops)-1]; i >= 0; k, i = k-1, prev[i] {
		run[k] = pairs[i]
	}
	return run
}

// matchTable pairs the lines of a longest common subsequence.
func matchTable(a, b []string, offA, offB int, match []int) {
	w := len(b) + 1
	table := make([]int32, (len(a)+1)*w) // [i][j]: length for a[i:] and b[j:]
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			match[offA+i] = offB + j
			i, j = i+1, j+1
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
}
