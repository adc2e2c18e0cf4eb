package fold

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// segment is one key of a frontmatter with its text and the comments and blank
// lines before it. Line ends are LF; raw always ends with one.
type segment struct {
	key   string
	lead  string
	raw   string
	entry entry // its offsets count from the start of raw
}

// segments cuts a frontmatter into its keys and what follows the last of them.
func segments(head string) (list []segment, tail string, err error) {
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	entries, err := readHead([]byte(head), 1)
	if err != nil {
		return nil, "", err
	}
	at := 0
	for _, e := range entries {
		s := segment{key: e.key, lead: head[at:e.start], raw: head[e.start:e.end], entry: e}
		at = e.end
		s.entry.colon -= e.start
		s.entry.end -= e.start
		if e.comment > 0 {
			s.entry.comment -= e.start
		}
		s.entry.start = 0
		list = append(list, s)
	}
	return list, head[at:], nil
}

func (s *side) segment(key string) *segment {
	if s == nil {
		return nil
	}
	for i := range s.head {
		if s.head[i].key == key {
			return &s.head[i]
		}
	}
	return nil
}

// setKey reports whether key holds a set, whatever form it is written in.
func setKey(key string) bool {
	switch canonicalKey(key) {
	case "tags", "keywords", "aliases", "links":
		return true
	}
	_, link := linkKey(key)
	return link
}

// mergeHead returns the merged frontmatter, LF.
func (mg *merger) mergeHead() string {
	var b strings.Builder
	for _, key := range mg.keys() {
		bs, os, ts := mg.base.segment(key), mg.ours.segment(key), mg.theirs.segment(key)
		raw := mg.mergeKey(key, bs, os, ts)
		for _, s := range [...]*segment{os, ts} {
			mg.keepComments(key, s, bs, raw)
		}
		if raw == "" {
			mg.keepLead(key, lead(bs), lead(os)+lead(ts))
			continue
		}
		b.WriteString(mergeLead(lead(bs), lead(os), lead(ts)))
		b.WriteString(raw)
	}
	tail := ""
	if mg.base != nil {
		tail = mg.base.tail
	}
	b.WriteString(mergeLead(tail, mg.ours.tail, mg.theirs.tail))
	head := b.String()
	if entries, err := readHead([]byte(head), 1); err != nil || len(head) > MaxFrontmatter || mg.lost(entries) {
		// Keys that refer to each other (anchors) were changed on both sides.
		// One frontmatter that can be read beats two that cannot be joined.
		mg.conflicts = append(mg.conflicts, Conflict{Key: "frontmatter", Text: joinSegments(mg.other)})
		return joinSegments(mg.main)
	}
	return head
}

// lost reports whether a value that the library reads (which may hold an
// alias) reads differently in the merged frontmatter than on every side.
func (mg *merger) lost(entries []entry) bool {
	for _, e := range entries {
		if e.simple {
			continue
		}
		found := false
		for _, s := range [...]*side{mg.ours, mg.theirs} {
			if seg := s.segment(e.key); seg != nil {
				have, is := seg.entry.value, e.value
				opaque := have.shape == shapeOther && is.shape == shapeOther && have.weight == is.weight
				found = found || opaque || sameValue(&seg.entry, &e)
			}
		}
		if !found {
			return true
		}
	}
	return false
}

func joinSegments(s *side) string {
	var b strings.Builder
	for _, seg := range s.head {
		b.WriteString(seg.lead + seg.raw)
	}
	return b.String() + s.tail
}

func lead(s *segment) string {
	if s == nil {
		return ""
	}
	return s.lead
}

// keys returns the keys of both sides: in the order of the main side, and those
// that only the other has, after the key they follow there.
func (mg *merger) keys() []string {
	var keys []string
	for _, s := range mg.main.head {
		keys = append(keys, s.key)
	}
	after := -1
	for _, s := range mg.other.head {
		if i := slices.Index(keys, s.key); i >= 0 {
			after = i
			continue
		}
		after++
		keys = slices.Insert(keys, after, s.key)
	}
	return keys
}

// mergeLead merges the comments before a key: those of the side that changed
// them, or the lines of both.
func mergeLead(base, ours, theirs string) string {
	switch {
	case ours == theirs, theirs == base:
		return ours
	case ours == base:
		return theirs
	}
	more := linesBeyond(theirs, ours)
	rest := linesBeyond(ours, theirs)
	switch {
	case more == "":
		return ours
	case rest == "":
		return theirs
	case ours > theirs:
		return ours + more
	}
	return theirs + rest
}

// linesBeyond returns the lines of text that there are not in have, without
// blank ones.
func linesBeyond(text, have string) string {
	known := strings.Split(have, "\n")
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.TrimSpace(line) != "" && !slices.Contains(known, line) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// keepLead notes the comments that stood before a key which is gone.
func (mg *merger) keepLead(key, base, now string) {
	if lost := linesBeyond(now, base); lost != "" {
		mg.conflicts = append(mg.conflicts, Conflict{Key: key, Text: strings.TrimSuffix(lost, "\n")})
	}
}

// keepComments notes the comments that one side wrote into the lines of a key
// and that did not come into what the key became.
func (mg *merger) keepComments(key string, side, base *segment, became string) {
	if side == nil || side.raw == became {
		return
	}
	was := ""
	if base != nil {
		was = base.raw
	}
	var lost []string
	for line := range strings.SplitSeq(side.raw, "\n") {
		i := strings.Index(line, " #")
		if i < 0 || strings.Contains(was, line[i:]) || strings.Contains(became, line[i:]) {
			continue
		}
		lost = append(lost, strings.TrimSpace(line[i:]))
	}
	if lost == nil || slices.ContainsFunc(mg.conflicts, func(c Conflict) bool { return c.Key == key && strings.Contains(c.Text, lost[0]) }) {
		return
	}
	mg.conflicts = append(mg.conflicts, Conflict{Key: key, Text: strings.Join(lost, "\n")})
}

// withComment returns the line of one key with the comment that the other side
// wrote behind its own value, where there is none.
func withComment(take, other, base *segment) string {
	switch {
	case !take.entry.simple || !other.entry.simple || take.entry.comment > 0 || other.entry.comment == 0:
		return take.raw
	case base != nil && base.entry.comment > 0, strings.Count(take.raw, "\n") != 1 || strings.Count(other.raw, "\n") != 1:
		return take.raw // it was taken away, or there is no place for it
	}
	return strings.TrimSuffix(take.raw, "\n") + other.raw[other.entry.comment:]
}

func sameValue(a, b *entry) bool {
	return a.value.shape != shapeOther && a.value.shape == b.value.shape &&
		a.value.scalar == b.value.scalar && slices.Equal(a.value.items, b.value.items)
}

// mergeKey returns the text of one key, or "" if it is gone.
func (mg *merger) mergeKey(key string, base, ours, theirs *segment) string {
	raw := func(s *segment) string {
		if s == nil {
			return ""
		}
		return s.raw
	}
	o, t, b := raw(ours), raw(theirs), raw(base)
	switch key {
	case "created_at", "updated_at":
		if made, ok := mg.mergeStamp(key, ours, theirs); ok {
			return made
		}
	}
	switch {
	case o == t, t == b:
		return o
	case o == b:
		return t
	case ours == nil: // deleted on one side, edited on the other
		return mg.keyAgainstNone(key, base, theirs)
	case theirs == nil:
		return mg.keyAgainstNone(key, base, ours)
	case sameValue(&ours.entry, &theirs.entry): // one value in two forms
		if mg.first(o, t) {
			return withComment(ours, theirs, base)
		}
		return withComment(theirs, ours, base)
	case base != nil && sameValue(&theirs.entry, &base.entry):
		return withComment(ours, theirs, base) // only the form changed there
	case base != nil && sameValue(&ours.entry, &base.entry):
		return withComment(theirs, ours, base)
	}
	if setKey(key) && ours.entry.value.shape != shapeOther && theirs.entry.value.shape != shapeOther ||
		ours.entry.value.shape == shapeList && theirs.entry.value.shape == shapeList {
		return mg.mergeSet(key, base, ours, theirs)
	}
	win, lose := o, t
	if !mg.first(o, t) {
		win, lose = t, o
	}
	mg.conflicts = append(mg.conflicts, Conflict{Key: key, Text: strings.TrimSuffix(lose, "\n")})
	return win
}

// keyAgainstNone returns what becomes of a key that one side edited and the
// other took away: the edit wins, but of a set the other had taken away each
// item it knew.
func (mg *merger) keyAgainstNone(key string, base, edited *segment) string {
	if !setKey(key) || base == nil || edited.entry.value.shape == shapeOther || base.entry.value.shape == shapeOther {
		return edited.raw
	}
	known := setOf(key, base)
	left := setOf(key, edited)
	maps.DeleteFunc(left, func(text string, _ scalar) bool { _, ok := known[text]; return ok })
	if len(left) == 0 {
		return ""
	}
	return setRaw(key, edited, slices.Collect(maps.Values(left)))
}

// mergeStamp returns the smaller created_at or the larger updated_at, clamped.
func (mg *merger) mergeStamp(key string, ours, theirs *segment) (string, bool) {
	var best *segment
	var stamp time.Time
	for _, s := range [...]*segment{ours, theirs} {
		if s == nil || s.entry.value.shape != shapeScalar {
			continue
		}
		t, ok := parseTime(s.entry.value.scalar.text)
		if !ok {
			return "", false
		}
		c := t.Compare(stamp)
		switch {
		case best == nil, key == "created_at" && c < 0, key == "updated_at" && c > 0, c == 0 && s.raw > best.raw:
			best, stamp = s, t
		}
	}
	if best == nil {
		return "", false
	}
	if c := clamp(stamp, mg.opt.Now); !c.Equal(stamp) {
		return replaceValue(best.raw, &best.entry, KeyEdit{key, c}, "\n"), true
	}
	return best.raw, true
}

// mergeSet returns (ours ∩ theirs) ∪ (ours − base) ∪ (theirs − base), sorted.
func (mg *merger) mergeSet(key string, base, ours, theirs *segment) string {
	b, o, t := map[string]scalar{}, setOf(key, ours), setOf(key, theirs)
	if base != nil {
		b = setOf(key, base)
	}
	var merged []scalar
	take := func(mine, other map[string]scalar, both bool) {
		for text, item := range mine {
			have, inOther := other[text]
			_, inBase := b[text]
			switch {
			case inOther && both:
				item.plain = item.plain && have.plain
				merged = append(merged, item)
			case !inOther && !inBase:
				merged = append(merged, item)
			}
		}
	}
	take(o, t, true)
	take(t, o, false)
	main, other := ours, theirs
	if !mg.first(ours.raw, theirs.raw) {
		main, other = theirs, ours
	}
	made := *main
	made.raw = setRaw(key, main, merged)
	if made.entry.simple && main.entry.comment == 0 && other.entry.comment > 0 && main.entry.dash < 0 {
		return withComment(&made, other, base)
	}
	return made.raw
}

// setRaw returns the lines of a key that holds items, in the form that form has.
func setRaw(key string, form *segment, items []scalar) string {
	slices.SortFunc(items, func(a, b scalar) int { return strings.Compare(a.text, b.text) })
	if form.entry.simple {
		return replaceValue(form.raw, &form.entry, KeyEdit{key, items}, "\n")
	}
	return fmt.Sprintf("%s: %s\n", encodeScalar(key, false, false), encodeValue(key, items))
}

// setOf returns the items of a list by their text. Keys we know compare as they
// are read: ids in lower case, tags without #.
func setOf(key string, s *segment) map[string]scalar {
	v := s.entry.value
	items := v.items
	if v.shape == shapeScalar {
		items = nil
		for _, text := range listOf(v) {
			items = append(items, scalar{text: text, plain: v.scalar.plain})
		}
	}
	set := make(map[string]scalar, len(items))
	for _, item := range items {
		if setKey(key) {
			item = knownItem(key, item)
		}
		if item.text == "" && setKey(key) {
			continue
		}
		if was, ok := set[item.text]; ok {
			item.plain = item.plain && was.plain
		}
		set[item.text] = item
	}
	return set
}

func knownItem(key string, item scalar) scalar {
	item.text = strings.TrimSpace(item.text)
	item.plain = false // its form follows from its text
	if canonicalKey(key) == "tags" {
		item.text = cleanTag(item.text)
	}
	if _, link := linkKey(key); link {
		if id, ok := targetID(item.text); ok {
			item.text = string(id)
		}
	}
	return item
}
