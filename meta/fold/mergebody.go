package fold

import (
	"slices"
	"strings"
)

// mergeBody returns the merged body without the block, LF, callouts included.
func (mg *merger) mergeBody() string {
	o, t := lines(mg.ours.text), lines(mg.theirs.text)
	var b []string
	var known map[string]string
	if mg.base != nil {
		b, known = lines(mg.base.text), mg.base.callouts
	} else {
		b = common(lines(mg.main.text), lines(mg.other.text))
	}
	calls := mergeCallouts(known, mg.ours.callouts, mg.theirs.callouts)
	var out []string
	var at positions
	for _, h := range diff3(b, o, t) {
		took, ok := h.merged()
		if !ok {
			took = mg.resolveHunk(h, at, calls)
		}
		at.pass(h)
		out = append(out, took...)
	}
	text := ""
	if len(out) > 0 {
		text = endLine(strings.Join(out, "\n"))
	}
	return putCallouts(text, calls)
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// common returns the lines that a and b share, in order: what stands for a base
// that nobody knows.
func common(a, b []string) []string {
	var both []string
	for i, j := range matchLines(a, b) {
		if j >= 0 {
			both = append(both, a[i])
		}
	}
	return both
}

// position follows the headings of a body.
type position struct {
	fence fenceState
	notes bool // under `## Notes`, which belongs to people
}

func (p *position) line(text string) {
	if p.fence.line(text) {
		return
	}
	if strings.HasPrefix(text, "# ") || strings.HasPrefix(text, "## ") {
		p.notes = strings.EqualFold(strings.TrimSpace(text), "## Notes")
	}
}

// lines follows all of list.
func (p *position) lines(list []string) {
	for _, text := range list {
		p.line(text)
	}
}

// notesIn returns where in list, which begins at p, the section for notes
// begins; its length if it does not.
func (p position) notesIn(list []string) int {
	for i, text := range list {
		if p.line(text); p.notes {
			return i
		}
	}
	return len(list)
}

// positions is where a merge has come to in the three bodies.
type positions struct{ base, ours, theirs position }

func (p *positions) pass(h hunk) {
	p.base.lines(h.base)
	p.ours.lines(h.ours)
	p.theirs.lines(h.theirs)
}

// notes reports whether a side has its notes there.
func (p *positions) notes() bool { return p.ours.notes || p.theirs.notes }

// resolveHunk decides a hunk that both sides changed and returns its lines.
func (mg *merger) resolveHunk(h hunk, at positions, calls map[string]string) []string {
	// What both did alike at the bounds of the hunk is not in dispute.
	n := 0
	for n < len(h.ours) && n < len(h.theirs) && h.ours[n] == h.theirs[n] {
		n++
	}
	o, t, head := h.ours[n:], h.theirs[n:], h.ours[:n]
	k := 0
	for k < len(o) && k < len(t) && o[len(o)-1-k] == t[len(t)-1-k] {
		k++
	}
	tail := o[len(o)-k:]
	left := hunk{h.base, o[:len(o)-k], t[:len(t)-k]}
	at.ours.lines(head)
	at.theirs.lines(head)
	if took, ok := left.merged(); ok {
		return slices.Concat(head, took, tail)
	}
	if !mg.people() && !at.notes() {
		i, j := at.ours.notesIn(left.ours), at.theirs.notesIn(left.theirs)
		if i < len(left.ours) || j < len(left.theirs) {
			b := at.base.notesIn(left.base)
			before := mg.resolveHunk(hunk{left.base[:b], left.ours[:i], left.theirs[:j]}, at, calls)
			at.ours.notes = true
			notes := mg.resolveHunk(hunk{left.base[b:], left.ours[i:], left.theirs[j:]}, at, calls)
			return slices.Concat(head, before, notes, tail)
		}
	}
	return slices.Concat(head, mg.decide(left, at.notes(), calls), tail)
}

// people reports whether the whole body is what people or agents write.
func (mg *merger) people() bool {
	return mg.main.m.Source == SourceAgent || mg.other.m.Source == SourceAgent
}

// decide chooses between two lists of lines, or keeps both. What stands under
// notes is a person's.
func (mg *merger) decide(h hunk, notes bool, calls map[string]string) []string {
	people := notes || mg.people()
	described := mg.base != nil && mg.ours.m.SourceBlob == mg.base.m.SourceBlob && mg.theirs.m.SourceBlob == mg.base.m.SourceBlob
	if (people || described) && len(h.base) == 0 {
		if list, ok := unionItems(h.ours, h.theirs); ok {
			return list
		}
	}
	if mg.person != nil && !notes {
		if mg.person == mg.ours {
			return withPerson(h.base, h.ours, h.theirs)
		}
		return withPerson(h.base, h.theirs, h.ours)
	}
	oursText, theirsText := joined(h.ours), joined(h.theirs)
	emptyOurs, emptyTheirs := strings.TrimSpace(oursText) == "", strings.TrimSpace(theirsText) == ""
	switch {
	case emptyOurs && emptyTheirs: // blank lines only: nobody's words
		if oursText < theirsText {
			return h.theirs
		}
		return h.ours
	case people && emptyOurs: // one side only took away: what the other wrote stays
		return h.theirs
	case people && emptyTheirs:
		return h.ours
	}
	win, lose := h.ours, theirsText
	if !mg.first(oursText, theirsText) {
		win, lose = h.theirs, oursText
	}
	conflict := Conflict{Text: strings.TrimSuffix(lose, "\n")}
	if people && !emptyOurs && !emptyTheirs {
		conflict.Hash = ContentHash([]byte(conflict.Text))[:16]
		calls[conflict.Hash] = conflict.Text
	}
	mg.conflicts = append(mg.conflicts, conflict)
	return win
}

// joined returns list as text, in which no lines differ from one blank line.
func joined(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

// withPerson returns the hunk of a new description with the lines a person had
// added to the old one, before the blank lines at its end.
func withPerson(base, person, described []string) []string {
	added := make([]bool, len(person))
	for i := range added {
		added[i] = true
	}
	for _, j := range matchLines(base, person) {
		if j >= 0 {
			added[j] = false
		}
	}
	var own []string
	for i, line := range person {
		blank := strings.TrimSpace(line) == ""
		if added[i] && (blank && len(own) > 0 || !blank && !slices.Contains(described, line)) {
			own = append(own, line)
		}
	}
	for len(own) > 0 && strings.TrimSpace(own[len(own)-1]) == "" {
		own = own[:len(own)-1]
	}
	end := len(described)
	for end > 0 && strings.TrimSpace(described[end-1]) == "" {
		end--
	}
	return slices.Concat(described[:end], own, described[end:])
}

// unionItems returns the list items of a and b, sorted, each once, if both are
// nothing but items of bulleted lists with the lines indented below them.
func unionItems(a, b []string) ([]string, bool) {
	itemsA, okA := listItems(a)
	itemsB, okB := listItems(b)
	if !okA || !okB {
		return nil, false
	}
	all := append(itemsA, itemsB...)
	slices.Sort(all)
	var out []string
	for _, item := range slices.Compact(all) {
		out = append(out, strings.Split(item, "\n")...)
	}
	return out, true
}

// listItems cuts lines into list items of one indent.
func listItems(list []string) ([]string, bool) {
	var items []string
	indent := -1
	for _, line := range list {
		text := strings.TrimLeft(line, " \t")
		if text == "" {
			return nil, false
		}
		in := len(line) - len(text)
		if indent < 0 {
			indent = in
		}
		bullet := listMark(text) == 2 && strings.IndexByte("-*+", text[0]) >= 0
		switch {
		case in == indent && bullet:
			items = append(items, line)
		case in > indent && len(items) > 0:
			items[len(items)-1] += "\n" + line
		default:
			return nil, false
		}
	}
	return items, true
}

const calloutMark = "> [!conflict]- Other version "

// calloutHash returns the hash in the first line of a conflict callout, or "".
func calloutHash(line string) string {
	hash, ok := strings.CutPrefix(strings.TrimRight(line, " \t"), calloutMark)
	if !ok || len(hash) < 8 || len(hash) > 64 || !lowerHex(hash) {
		return ""
	}
	return hash
}

// cutCallouts takes the conflict callouts out of a body, with the blank line
// before each (after it, at the top).
func cutCallouts(text string) (rest string, calls map[string]string) {
	calls = map[string]string{}
	if !strings.Contains(text, calloutMark) {
		return text, calls
	}
	var f fenceState
	var out []string
	all := lines(text)
	for i := 0; i < len(all); {
		hash := ""
		if f.mark == 0 {
			hash = calloutHash(all[i])
		}
		if hash == "" {
			f.line(all[i])
			out = append(out, all[i])
			i++
			continue
		}
		var quoted []string
		for i++; i < len(all) && strings.HasPrefix(all[i], ">"); i++ {
			quoted = append(quoted, strings.TrimPrefix(all[i][1:], " "))
		}
		calls[hash] = max(calls[hash], strings.Join(quoted, "\n"))
		switch {
		case len(out) > 0 && out[len(out)-1] == "":
			out = out[:len(out)-1]
		case len(out) == 0 && i < len(all) && all[i] == "":
			i++
		}
	}
	if len(out) == 0 {
		return "", calls
	}
	return endLine(strings.Join(out, "\n")), calls
}

// mergeCallouts merges callouts as a set keyed by hash; of two texts for one
// hash the larger stays, and one that a person edited is not taken away.
func mergeCallouts(base, ours, theirs map[string]string) map[string]string {
	merged := map[string]string{}
	for hash, text := range ours {
		other, both := theirs[hash]
		if was, known := base[hash]; both || !known || was != text {
			merged[hash] = max(text, other)
		}
	}
	for hash, text := range theirs {
		_, both := ours[hash]
		if was, known := base[hash]; !both && (!known || was != text) {
			merged[hash] = text
		}
	}
	return merged
}

// putCallouts adds callouts to text, by hash: at its end, or at its top where
// a code fence stays open.
func putCallouts(text string, calls map[string]string) string {
	if len(calls) == 0 {
		return text
	}
	hashes := make([]string, 0, len(calls))
	for hash := range calls {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	open := openFence(text)
	var b strings.Builder
	if !open {
		b.WriteString(text)
	}
	for _, hash := range hashes {
		if b.Len() > 0 && !open {
			b.WriteByte('\n')
		}
		b.WriteString(Callout(hash, calls[hash]))
		if open {
			b.WriteByte('\n')
		}
	}
	if open {
		b.WriteString(text)
	}
	return b.String()
}

// Callout returns the collapsed callout that holds the version of a text that a
// merge did not take.
func Callout(hash, text string) string {
	var b strings.Builder
	b.WriteString(calloutMark + hash + "\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return b.String()
}

// CutCallouts takes the conflict callouts out of body and returns them by the
// hash of what they hold: the daemon makes a memory of each.
func CutCallouts(body string) (rest string, callouts map[string]string) { return cutCallouts(lf(body)) }
