package fold

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"
)

// MergeOptions says what [Merge3] cannot know from the three versions.
type MergeOptions struct {
	// Now bounds stamps: what is more than 5 minutes after it is clamped to
	// that. The zero time bounds nothing.
	Now time.Time
	// Title gives the titles of linked memories; it may be nil.
	Title func(ID) string
	// Redescribed says that theirs describes the same source as base, by other rules:
	// what a person wrote into ours then wins as it does when the source changed.
	Redescribed bool
	// Project and Path are those of the memory, as for [Decode]. Without a
	// Path the id in the file stands for it.
	Project, Path string
}

// MergeResult is what three versions became.
type MergeResult struct {
	Bytes     []byte // nil if Deleted
	Deleted   bool
	Conflicts []Conflict // what was changed on both sides and could not be kept in place
}

// A Conflict is one thing that both sides changed. What was not taken is Text;
// for a body with a Hash it also stands in a callout of that hash.
type Conflict struct {
	Key  string // of the frontmatter; "" for the body or the whole file
	Hash string
	Text string
}

// maxAhead is how far a stamp may lie in the future: clocks differ by this
// much, wrong clocks by more.
const maxAhead = 5 * time.Minute

// Merge3 merges two versions of a memory that both come from base, by the
// table in git.md. A nil slice is a version that does not exist: deleted, or,
// for base, never known. It is commutative (swapping ours and theirs gives the
// same bytes) and idempotent (two equal versions merge to that version, and the
// result merged with a side it came from, as base, is the result), and it never fails on what it is given: of a side that cannot be
// read, the other wins. It always returns a nil error now.
//
// It also serves to describe a source file anew: base is our last description,
// ours the file as a person left it, theirs the new description. That case
// shows in source_blob, which only theirs has changed; then what the person
// wrote wins, and their lines stay wherever the new text goes.
func Merge3(base, ours, theirs []byte, opt MergeOptions) (MergeResult, error) {
	switch {
	case same(ours, theirs), same(base, theirs):
		return whole(ours), nil
	case same(base, ours):
		return whole(theirs), nil
	case ours == nil: // deleted here, edited there: the edit wins
		return whole(theirs), nil
	case theirs == nil:
		return whole(ours), nil
	}
	o, okO := readable(ours, opt)
	t, okT := readable(theirs, opt)
	switch {
	case !okO && !okT:
		lose, win := order(ours, theirs)
		return MergeResult{Bytes: win, Conflicts: []Conflict{{Text: string(lose)}}}, nil
	case !okO:
		return MergeResult{Bytes: theirs, Conflicts: []Conflict{{Text: string(ours)}}}, nil
	case !okT:
		return MergeResult{Bytes: ours, Conflicts: []Conflict{{Text: string(theirs)}}}, nil
	}
	var b *side
	if base != nil {
		b, _ = readable(base, opt)
	}
	if o.m.Deleted != t.m.Deleted && (b == nil || !b.m.Deleted) { // a tombstone against an edit
		if o.m.Deleted {
			return whole(theirs), nil
		}
		return whole(ours), nil
	}
	mg := newMerger(b, o, t, opt)
	return MergeResult{Bytes: mg.merge(), Conflicts: mg.conflicts}, nil
}

// MergeAt is Merge3 for versions that git brings to opt.Path. Where git took one file for
// another renamed, ours and theirs are two memories, which no one file can hold: the error
// is then ErrQuarantined, as it is where neither side can be read, and a person has to
// keep both. A base that is another memory than they are counts as none.
func MergeAt(base, ours, theirs []byte, opt MergeOptions) (MergeResult, error) {
	_, oursOK := readable(ours, opt)
	_, theirsOK := readable(theirs, opt)
	switch b, o, t := statedID(base), statedID(ours), statedID(theirs); {
	case !oursOK && !theirsOK:
		return MergeResult{}, quarantinef(0, "neither side can be read")
	case o == t && b != "" && b != o:
		base = nil
	case o == t, b == "" && (o == "" || t == ""): // or a note, to which one side gave an id
	case !oursOK && t == b, !theirsOK && o == b: // the readable side is taken
	default:
		return MergeResult{}, quarantinef(0, "two memories, of which git took one for the other renamed: ours has id %q, theirs %q", o, t)
	}
	return Merge3(base, ours, theirs, opt)
}

// same reports whether two versions are equal, where nil is not the empty file.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func whole(b []byte) MergeResult { return MergeResult{Bytes: b, Deleted: b == nil} }

// order returns a and b, the larger last.
func order(a, b []byte) (less, more []byte) {
	if bytes.Compare(a, b) > 0 {
		return b, a
	}
	return a, b
}

// side is one version, taken apart.
type side struct {
	raw      []byte
	l        layout
	head     []segment // the frontmatter, key by key
	tail     string    // comments and blank lines after the last key
	m        *Memory
	text     string // body without callouts and block, LF
	block    []blockLink
	hasBlock bool
	callouts map[string]string // hash → text
	updated  time.Time         // clamped
}

// readable is readSide for a version that may be no memory: that one is kept
// whole, whatever is wrong with it.
func readable(raw []byte, opt MergeOptions) (*side, bool) {
	s, err := readSide(raw, opt)
	return s, err == nil
}

// readSide takes one version apart.
func readSide(raw []byte, opt MergeOptions) (*side, error) {
	path := opt.Path
	if path == "" {
		path = pathOf(raw)
	}
	m, err := Decode(opt.Project, path, raw)
	if err != nil {
		return nil, err
	}
	l, err := split(raw)
	if err != nil {
		return nil, err
	}
	s := &side{raw: raw, l: l, m: m}
	var text string
	text, s.block, s.hasBlock = splitRelated(lf(string(raw[l.body:])))
	if s.hasForeignLinks() {
		// Lines a person put into our block become links of the frontmatter,
		// which is what the merged block is made from.
		bare, err := Decode(opt.Project, path, append(raw[:l.body:l.body], text...))
		if err != nil {
			return nil, err
		}
		if s.raw, err = Update(raw, bare, m, nil); err != nil {
			return nil, err
		}
		if s.l, err = split(s.raw); err != nil {
			return nil, err
		}
	}
	s.text, s.callouts = cutCallouts(text)
	head := ""
	if s.l.has {
		head = string(s.raw[s.l.head:s.l.headEnd])
	}
	if s.head, s.tail, err = segments(lf(head)); err != nil {
		return nil, err
	}
	s.updated = clamp(m.UpdatedAt, opt.Now)
	return s, nil
}

func (s *side) hasForeignLinks() bool {
	for _, b := range s.block {
		if !b.ours {
			return true
		}
	}
	return false
}

// pathOf returns the path at which a file with this id lies.
func pathOf(raw []byte) string {
	if id, err := ParseID(statedID(raw)); err == nil {
		return id.Path()
	}
	return "note.md"
}

// statedID is the id in the frontmatter as it counts when ids are compared; "" if
// there is none, or no frontmatter that can be read.
func statedID(raw []byte) string {
	l, err := split(raw)
	if err != nil || !l.has {
		return ""
	}
	entries, err := readHead(raw[l.head:l.headEnd], l.headLine)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.key == "id" {
			return strings.ToLower(e.value.scalar.text)
		}
	}
	return ""
}

func clamp(t, now time.Time) time.Time {
	if limit := now.Add(maxAhead).UTC().Truncate(time.Second); !now.IsZero() && t.After(limit) {
		return limit
	}
	return t
}

// merger holds one merge. Whatever it decides between ours and theirs, it
// decides by what they hold, never by which is which.
type merger struct {
	base         *side // nil if absent
	ours, theirs *side
	person       *side // the side that a person edited while the other was described anew; nil if neither
	main, other  *side // main gives order, line ends and comments
	opt          MergeOptions
	conflicts    []Conflict
}

func newMerger(base, ours, theirs *side, opt MergeOptions) *merger {
	mg := &merger{base: base, ours: ours, theirs: theirs, opt: opt}
	if base != nil && base.m.Source == SourceFile && ours.m.SourceBlob != theirs.m.SourceBlob {
		switch base.m.SourceBlob {
		case ours.m.SourceBlob:
			mg.person = ours
		case theirs.m.SourceBlob:
			mg.person = theirs
		}
	}
	if opt.Redescribed && base != nil {
		mg.person = ours
	}
	mg.main, mg.other = ours, theirs
	cmp := ours.updated.Compare(theirs.updated)
	if cmp < 0 || cmp == 0 && bytes.Compare(ours.raw, theirs.raw) < 0 {
		mg.main, mg.other = theirs, ours
	}
	if mg.person == mg.other {
		mg.main, mg.other = mg.other, mg.main
	}
	return mg
}

// first reports whether the value of ours is taken where both sides changed
// one thing: the person's, else the newer, else the larger.
func (mg *merger) first(ours, theirs string) bool {
	if mg.person != nil {
		return mg.person == mg.ours
	}
	if c := mg.ours.updated.Compare(mg.theirs.updated); c != 0 {
		return c > 0
	}
	return ours >= theirs
}

// merge returns the merged file.
func (mg *merger) merge() []byte {
	out := mg.file(mg.mergeHead(), mg.mergeBody())
	if mg.reads(out) {
		return out
	}
	// Each side is a memory and both together are none: too large, or what one
	// side had in a code fence no longer is. One of them wins whole.
	mg.conflicts = []Conflict{{Text: string(mg.other.raw)}}
	calls := maps.Clone(mg.main.callouts)
	maps.Copy(calls, mg.other.callouts)
	lose := strings.TrimSuffix(mg.other.text, "\n")
	calls[ContentHash([]byte(lose))[:16]] = lose
	out = mg.file(joinSegments(mg.main), putCallouts(mg.main.text, calls))
	if mg.reads(out) {
		return out
	}
	return mg.main.raw
}

// reads reports whether b is a memory.
func (mg *merger) reads(b []byte) bool {
	_, err := Decode(mg.opt.Project, mg.main.m.Path, b)
	return err == nil
}

// file puts a frontmatter and a body together.
func (mg *merger) file(head, text string) []byte {
	crlf := mg.changed(func(s *side) bool { return mostlyCRLF(s.raw) })
	var out bytes.Buffer
	if mg.changed(func(s *side) bool { return s.l.bomLength > 0 }) {
		out.WriteString(bom)
	}
	if head != "" || mg.main.l.has {
		fence := withEOL("---\n", crlf)
		out.WriteString(fence + withEOL(head, crlf) + fence)
	}
	if full := text + mg.mergedBlock(out.Bytes(), text); full != "" {
		out.WriteString(mg.ownBytes(full, crlf))
	}
	return out.Bytes()
}

// changed merges a property that is true or false: the side that changed it
// has its way; without a base, it takes both to have it.
func (mg *merger) changed(has func(*side) bool) bool {
	o, t := has(mg.ours), has(mg.theirs)
	if mg.base != nil && o != t {
		return !has(mg.base)
	}
	return o && t
}

// ownBytes returns body with the bytes of a side that has the same text and
// such line ends, so that blank lines at the end survive (the larger, if both
// do); else as it is.
func (mg *merger) ownBytes(body string, crlf bool) string {
	best := ""
	for _, s := range [...]*side{mg.main, mg.other} {
		if raw := string(s.raw[s.l.body:]); mostlyCRLF(s.raw) == crlf && endLine(lf(raw)) == body {
			best = max(best, raw)
		}
	}
	if best != "" {
		return best
	}
	return withEOL(body, crlf)
}

func withEOL(s string, crlf bool) string {
	if crlf {
		return strings.ReplaceAll(s, "\n", "\r\n")
	}
	return s
}

// mergedBlock returns the `## Related` block for the merged frontmatter, if
// either side had one.
func (mg *merger) mergedBlock(head []byte, text string) string {
	if !mg.ours.hasBlock && !mg.theirs.hasBlock || !takesBlock(text) {
		return ""
	}
	path := mg.main.m.Path
	m, err := Decode(mg.opt.Project, path, append(slices.Clip(head), text...))
	if err != nil {
		return "" // cannot be: the head was read and the text too
	}
	return relatedBlock(m.Links, func(id ID) string {
		if mg.opt.Title != nil {
			if t := mg.opt.Title(id); t != "" {
				return t
			}
		}
		best := ""
		for _, s := range [...]*side{mg.ours, mg.theirs} {
			for _, b := range s.block {
				if b.id == id {
					best = max(best, b.title)
				}
			}
		}
		return best
	})
}
