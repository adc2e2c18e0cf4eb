package fold_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A mergeFunc is Merge3, or something that pretends to be it.
type mergeFunc func(base, ours, theirs []byte, opt fold.MergeOptions) (fold.MergeResult, error)

// A trial is three versions of one memory, made from a seed. Every word a side
// writes is a token that occurs nowhere else.
type trial struct {
	seed               uint64
	base, ours, theirs []byte // nil: does not exist
	opt                fold.MergeOptions
	unlike             bool // see sheet.unlike
}

func (tr trial) String() string {
	return fmt.Sprintf("seed %d\n-- base\n%q\n-- ours\n%q\n-- theirs\n%q", tr.seed, tr.base, tr.ours, tr.theirs)
}

// sheet is a memory under the hands of one side.
type sheet struct {
	rnd   *rand.Rand
	side  string
	next  int
	note  bool
	bom   bool
	crlf  bool
	open  bool // no line feed at the end
	moved bool // lines changed places, or into or out of the notes
	keys  []sheetKey
	body  []string
	calls []string
	links []string
	block bool
}

type sheetKey struct {
	key, lead, value, comment string
	list                      []string // of a set or a list, instead of value
	rows                      bool     // one item per line
}

func (s *sheet) token() string {
	s.next++
	return fmt.Sprintf("zq%s%dq", s.side, s.next)
}

func (s *sheet) chance(percent int) bool { return s.rnd.IntN(100) < percent }

func (s *sheet) key(name string) *sheetKey {
	if i := slices.IndexFunc(s.keys, func(k sheetKey) bool { return k.key == name }); i >= 0 {
		return &s.keys[i]
	}
	return nil
}

// newSheet returns what both sides begin with.
func newSheet(rnd *rand.Rand) *sheet {
	s := &sheet{rnd: rnd, side: "b", note: rnd.IntN(8) == 0, bom: rnd.IntN(12) == 0, crlf: rnd.IntN(8) == 0, open: rnd.IntN(10) == 0}
	source := []string{"agent", "agent", "agent", "git", "file"}[rnd.IntN(5)]
	if !s.note {
		s.keys = append(s.keys, sheetKey{key: "id", value: `"1f2e3d4c5b6a7988"`})
	}
	s.keys = append(s.keys, sheetKey{key: "title", value: s.token()}, sheetKey{key: "source", value: source})
	for _, name := range []string{"author", "context", "mood"} {
		if s.chance(50) {
			s.keys = append(s.keys, sheetKey{key: name, value: s.token()})
		}
	}
	for _, name := range []string{"tags", "keywords", "colours"} {
		if s.chance(60) {
			s.keys = append(s.keys, sheetKey{key: name, list: s.words(), rows: s.chance(30)})
		}
	}
	if s.chance(20) {
		s.keys = append(s.keys, sheetKey{key: "shape", value: "{side: " + s.token() + "}"})
	}
	if source == "file" {
		s.keys = append(s.keys, sheetKey{key: "source_blob", value: "aaaa"})
	}
	s.keys = append(s.keys, sheetKey{key: "created_at", value: "2026-01-05T00:00:00Z"}, sheetKey{key: "updated_at", value: "2026-01-05T00:00:00Z"})
	for range rnd.IntN(8) {
		s.body = append(s.body, s.line())
	}
	if s.chance(25) {
		s.body = append(s.body, "## Notes", s.token())
	}
	if s.chance(15) {
		s.calls = append(s.calls, s.token())
	}
	s.block = !s.note && s.chance(30)
	for range rnd.IntN(3) {
		s.links = append(s.links, fmt.Sprintf("%016x", rnd.Uint64()))
	}
	return s
}

func (s *sheet) words() []string {
	var list []string
	for range s.rnd.IntN(4) {
		list = append(list, s.token())
	}
	return list
}

func (s *sheet) line() string {
	switch s.rnd.IntN(12) {
	case 0:
		return ""
	case 1:
		return "## " + s.token()
	case 2, 3, 4:
		return "- " + s.token()
	case 5:
		return "  " + s.token()
	case 6:
		return "- " + s.token() + "\n  " + s.token()
	case 7:
		return "plain" // repeats
	case 8:
		if s.chance(20) {
			return "```"
		}
	}
	return s.token() + " and " + s.token()
}

// edited returns a copy of s as another side left it.
func (s *sheet) edited(side string) *sheet {
	e := *s
	e.side, e.next = side, 0
	e.keys, e.body, e.calls, e.links = slices.Clone(s.keys), slices.Clone(s.body), slices.Clone(s.calls), slices.Clone(s.links)
	for i := range e.keys {
		e.keys[i].list = slices.Clone(e.keys[i].list)
	}
	if e.chance(85) {
		e.key("updated_at").value = fmt.Sprintf("2026-02-%02dT00:00:00Z", 1+e.rnd.IntN(3))
		if e.chance(3) {
			e.key("updated_at").value = "2031-01-01T00:00:00Z"
		}
	}
	if e.chance(5) {
		e.key("created_at").value = fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+e.rnd.IntN(9))
	}
	if k := e.key("source_blob"); k != nil && e.chance(30) {
		k.value = "blob" + side
	}
	for range e.rnd.IntN(4) {
		e.editKey()
	}
	for range e.rnd.IntN(5) {
		e.editBody()
	}
	switch e.rnd.IntN(40) {
	case 0:
		e.crlf = !e.crlf
	case 1:
		e.bom = !e.bom
	case 2:
		e.open = !e.open
	case 3, 4:
		e.calls = append(e.calls, e.token())
	case 5, 6:
		e.calls = nil
	case 7, 8, 9, 10:
		e.links = append(e.links, fmt.Sprintf("%016x", e.rnd.Uint64()))
	case 11, 12:
		e.links = nil
	case 13:
		e.body = append(e.body, e.line(), "## Notes", e.token())
	}
	return &e
}

func (s *sheet) editKey() {
	i := s.rnd.IntN(len(s.keys))
	k := &s.keys[i]
	switch k.key {
	case "id", "created_at", "updated_at", "source_blob":
		return
	case "source":
		if s.chance(90) {
			return
		}
		k.value = "agent"
		return
	case "title":
		k.value = s.token()
		return
	case "shape":
		k.value = "{side: " + s.token() + "}"
		return
	}
	switch what := s.rnd.IntN(12); {
	case what == 0:
		s.keys = slices.Delete(s.keys, i, i+1)
	case what == 1:
		s.keys = slices.Insert(s.keys, i, sheetKey{key: s.token(), value: s.token()})
	case what == 2:
		k.lead += "# " + s.token() + "\n"
	case what == 3 && k.list == nil:
		k.comment = s.token()
	case k.value == "":
		if len(k.list) > 0 && s.chance(40) {
			k.list = slices.Delete(k.list, 0, 1)
		}
		k.list = append(k.list, s.words()...)
		if s.chance(20) {
			k.rows = !k.rows
		}
	default:
		k.value = s.token()
	}
}

func (s *sheet) editBody() {
	at := s.rnd.IntN(len(s.body) + 1)
	was := strings.Count(strings.Join(s.body, "\n"), "## Notes")
	defer func() {
		s.moved = s.moved || strings.Count(strings.Join(s.body, "\n"), "## Notes") < was
	}()
	switch what := s.rnd.IntN(6); {
	case at < len(s.body) && what < 2:
		s.body[at] = s.line()
	case at < len(s.body) && what == 2:
		s.body = slices.Delete(s.body, at, at+1)
	case at+1 < len(s.body) && what == 3:
		s.body[at], s.body[at+1] = s.body[at+1], s.body[at]
		s.moved = true
	default:
		s.body = slices.Insert(s.body, at, s.line())
	}
}

// bytes returns the file.
func (s *sheet) bytes() []byte {
	var b strings.Builder
	b.WriteString("---\n")
	for _, k := range s.keys {
		b.WriteString(k.lead + k.key + ":")
		switch {
		case k.value != "":
			b.WriteString(" " + k.value)
		case k.rows && len(k.list) > 0:
			b.WriteString("\n  - " + strings.Join(k.list, "\n  - "))
		default:
			b.WriteString(" [" + strings.Join(k.list, ", ") + "]")
		}
		if k.comment != "" {
			b.WriteString(" # " + k.comment)
		}
		b.WriteString("\n")
	}
	if len(s.links) > 0 {
		b.WriteString("related_to: [\"" + strings.Join(s.links, `", "`) + "\"]\n")
	}
	b.WriteString("---\n")
	if len(s.body) > 0 {
		b.WriteString(strings.Join(s.body, "\n") + "\n")
	}
	for _, text := range s.calls {
		b.WriteString("\n" + fold.Callout(fold.ContentHash([]byte(text))[:16], text))
	}
	if s.block && len(s.links) > 0 {
		b.WriteString("\n---\n\n## Related\n\n")
		for _, id := range s.links {
			b.WriteString("- " + fold.LinkTarget(fold.ID(id), "") + "\n")
		}
	}
	text := b.String()
	if s.open {
		text = strings.TrimSuffix(text, "\n")
	}
	if s.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if s.bom {
		text = "\xef\xbb\xbf" + text
	}
	return []byte(text)
}

// newTrial makes the trial of a seed.
func newTrial(seed uint64) trial {
	rnd := rand.New(rand.NewPCG(seed, 0x6d65726765))
	from := newSheet(rnd)
	tr := trial{seed: seed, base: from.bytes(), opt: fold.MergeOptions{Now: mergeNow, Project: "p", Path: ownPath}}
	if from.note {
		tr.opt.Path = "notes/n.md"
	}
	ours, theirs := from.edited("o"), from.edited("t")
	tr.ours, tr.theirs = ours.bytes(), theirs.bytes()
	switch rnd.IntN(40) {
	case 0, 1, 2:
		tr.base = nil
	case 3:
		tr.ours = nil
	case 4:
		tr.ours = tr.base
	case 5:
		tr.theirs = tr.ours
	case 6:
		tr.ours = []byte("---\nid: [\n" + string(tr.ours))
	case 7:
		ours.keys = append(ours.keys, sheetKey{key: "deleted", value: "true"})
		ours.body, ours.calls = nil, nil
		tr.ours = ours.bytes()
	}
	for _, s := range []*sheet{from, ours, theirs} {
		tr.unlike = tr.unlike || s.unlike(from, tr.base == nil)
	}
	return tr
}

// unlike reports whether a result may meet a side it came from and become
// another: where lines repeat or moved, a comparison of lines may see them
// otherwise, as it does lists that were sorted and have no base; below a code
// fence that stays open, callouts are text; that a description gave way to a
// person does not show once both have its blob; and of a description whose
// section for notes somebody took away, what stood there is no longer theirs.
func (s *sheet) unlike(from *sheet, unknown bool) bool {
	text, lines := strings.Join(s.body, "\n"), slices.Sorted(slices.Values(s.body))
	blob, was := s.key("source_blob"), from.key("source_blob")
	return s.moved || len(slices.Compact(lines)) < len(s.body) ||
		was != nil && (blob == nil || blob.value != was.value) ||
		strings.Count(text, "```")%2 != 0 || unknown && strings.Contains(text, "- ")
}

var tokenForm = regexp.MustCompile(`zq[bot][0-9]+q`)

func tokensOf(b []byte) map[string]bool {
	set := map[string]bool{}
	for _, m := range tokenForm.FindAll(b, -1) {
		set[string(m)] = true
	}
	return set
}

// check returns what is wrong with how merge deals with tr.
func (tr trial) check(merge mergeFunc) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	got, err := merge(tr.base, tr.ours, tr.theirs, tr.opt)
	if err != nil {
		return []string{err.Error()}
	}
	swapped, err := merge(tr.base, tr.theirs, tr.ours, tr.opt)
	if err != nil || !bytes.Equal(swapped.Bytes, got.Bytes) || swapped.Deleted != got.Deleted || !sameConflicts(got, swapped) {
		bad("not commutative: %v\n%q\n%q", err, got.Bytes, swapped.Bytes)
	}
	if got.Deleted {
		if tr.ours != nil && tr.theirs != nil || tr.ours != nil && !bytes.Equal(tr.ours, tr.base) || tr.theirs != nil && !bytes.Equal(tr.theirs, tr.base) {
			bad("deleted, though a side edited it")
		}
		return faults
	}
	again, err := merge(got.Bytes, got.Bytes, got.Bytes, tr.opt)
	if err != nil || !bytes.Equal(again.Bytes, got.Bytes) {
		bad("a version merged with itself is another: %v", err)
	}
	for _, side := range [][]byte{tr.ours, tr.theirs} {
		for _, base := range [][]byte{side, tr.base} {
			if side == nil || tr.unlike && !bytes.Equal(base, side) || bytes.Equal(got.Bytes, tr.base) {
				continue // what comes to the base is a side that changed nothing
			}
			again, err := merge(base, got.Bytes, side, tr.opt)
			if err != nil || !bytes.Equal(again.Bytes, got.Bytes) {
				bad("not idempotent: %v\n%q\nwith a side it came from\n%q", err, got.Bytes, again.Bytes)
			}
		}
	}
	faults = append(faults, tr.checkTokens(got)...)
	return append(faults, tr.checkFields(got)...)
}

func sameConflicts(a, b fold.MergeResult) bool {
	order := func(r fold.MergeResult) []string {
		list := make([]string, len(r.Conflicts))
		for i, c := range r.Conflicts {
			list[i] = fmt.Sprintf("%q %q %q", c.Key, c.Hash, c.Text)
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(order(a), order(b))
}

// checkTokens: what a side wrote is in the result or among the conflicts, and
// what neither side took away is there too.
func (tr trial) checkTokens(got fold.MergeResult) (faults []string) {
	have := tokensOf(got.Bytes)
	for _, c := range got.Conflicts {
		for token := range tokensOf([]byte(c.Text)) {
			have[token] = true
		}
	}
	base, ours, theirs := tokensOf(tr.base), tokensOf(tr.ours), tokensOf(tr.theirs)
	if bytes.Contains(tr.ours, []byte("deleted: true")) {
		clear(ours) // what a tombstone says was deleted on purpose
	}
	for _, side := range []map[string]bool{ours, theirs} {
		for token := range side {
			if !have[token] && (!base[token] || ours[token] && theirs[token]) {
				faults = append(faults, "lost "+token)
			}
		}
	}
	// The words of people are not only kept, they stand in the file.
	whole := tokensOf(got.Bytes)
	for _, side := range [][]byte{tr.ours, tr.theirs} {
		for token := range tokensOf(peoplesWords(tr.opt, side)) {
			if !whole[token] && !base[token] {
				faults = append(faults, "not in the file: "+token)
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// peoplesWords returns the body of a memory that people or agents write, and of
// another what stands under its notes.
func peoplesWords(opt fold.MergeOptions, b []byte) []byte {
	m, err := fold.Decode(opt.Project, opt.Path, b)
	if err != nil || m.Deleted {
		return nil
	}
	if m.Source == fold.SourceAgent {
		return []byte(m.Body)
	}
	var words []string
	notes, code := false, false
	for line := range strings.SplitSeq(m.Body, "\n") {
		code = code != strings.HasPrefix(line, "```")
		if !code && (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")) {
			notes = line == "## Notes"
		}
		if notes {
			words = append(words, line)
		}
	}
	return []byte(strings.Join(words, "\n"))
}

// checkFields holds the result against the table of git.md, field by field.
func (tr trial) checkFields(got fold.MergeResult) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	decode := func(b []byte) *fold.Memory {
		if b == nil {
			return nil
		}
		m, err := fold.Decode(tr.opt.Project, tr.opt.Path, b)
		if err != nil {
			return nil
		}
		return m
	}
	o, th, r := decode(tr.ours), decode(tr.theirs), decode(got.Bytes)
	b := decode(tr.base)
	if o == nil || th == nil {
		if o == nil && th != nil && !bytes.Equal(tr.theirs, tr.base) && !bytes.Equal(got.Bytes, tr.theirs) {
			bad("the side that can be read did not win")
		}
		return faults
	}
	if r == nil {
		return []string{"the merge of two memories cannot be read"}
	}
	same, err := fold.Update(got.Bytes, r, r, nil)
	if err != nil || !bytes.Equal(same, got.Bytes) {
		bad("an edit that changes nothing changes the result: %v\n%q\n%q", err, got.Bytes, same)
	}
	whole := bytes.Equal(tr.ours, tr.theirs) || bytes.Equal(tr.ours, tr.base) || bytes.Equal(tr.theirs, tr.base)
	if whole || o.Deleted || th.Deleted || slices.ContainsFunc(got.Conflicts, func(c fold.Conflict) bool { return c.Key == "frontmatter" }) {
		return faults
	}
	if b == nil {
		b = &fold.Memory{}
	}
	for _, set := range []struct {
		name                  string
		base, ours, theirs, r []string
	}{
		{"tags", b.Tags, o.Tags, th.Tags, r.Tags},
		{"keywords", b.Keywords, o.Keywords, th.Keywords, r.Keywords},
		{"related_to", targets(b), targets(o), targets(th), targets(r)},
	} {
		if want := union(set.base, set.ours, set.theirs); !slices.Equal(slices.Sorted(slices.Values(set.r)), want) {
			bad("%s = %v, want %v", set.name, set.r, want)
		}
	}
	limit := mergeNow.Add(5 * time.Minute)
	newest := o.UpdatedAt
	if th.UpdatedAt.After(newest) {
		newest = th.UpdatedAt
	}
	if newest.After(limit) {
		newest = limit
	}
	oldest := o.CreatedAt
	if th.CreatedAt.Before(oldest) {
		oldest = th.CreatedAt
	}
	if !r.UpdatedAt.Equal(newest) || !r.CreatedAt.Equal(oldest) {
		bad("created %v updated %v, want %v %v", r.CreatedAt, r.UpdatedAt, oldest, newest)
	}
	if b.Title != "" && (o.Title == b.Title && r.Title != th.Title || th.Title == b.Title && r.Title != o.Title) {
		bad("title = %q, want the one that changed", r.Title)
	}
	text := func(m *fold.Memory) string {
		rest, _ := fold.CutCallouts(m.Body)
		return rest
	}
	for _, pair := range [][2]*fold.Memory{{o, th}, {th, o}} {
		if text(b) != "" && text(pair[0]) == text(b) && strings.TrimSpace(text(r)) != strings.TrimSpace(text(pair[1])) {
			bad("body = %q, want the one that changed", r.Body)
		}
	}
	if n := strings.Count(string(got.Bytes), "\n"); n > 1 && strings.Count(string(tr.ours), "\r") == 0 && strings.Count(string(tr.theirs), "\r") == 0 && bytes.Contains(got.Bytes, []byte("\r")) {
		bad("a carriage return from nowhere")
	} else if crlf := strings.Count(string(got.Bytes), "\r\n"); crlf != 0 && crlf != n {
		bad("%d of %d lines end with CRLF", crlf, n)
	}
	return faults
}

func targets(m *fold.Memory) []string {
	var list []string
	for _, l := range m.Links {
		list = append(list, string(l.To))
	}
	return list
}

// union is (ours ∩ theirs) ∪ (ours − base) ∪ (theirs − base), sorted.
func union(base, ours, theirs []string) []string {
	var list []string
	for _, s := range slices.Concat(ours, theirs) {
		if slices.Contains(ours, s) && slices.Contains(theirs, s) || !slices.Contains(base, s) {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rigMerges runs n trials from a seed on, on all cores, and returns what is
// wrong, by seed, having found until trials with faults or a few more.
func rigMerges(merge mergeFunc, first uint64, n, until int) []string {
	var mu sync.Mutex
	found := map[uint64]string{}
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < uint64(n); i = next.Add(1) - 1 {
				tr := newTrial(first + i)
				bad := tr.check(merge)
				if len(bad) == 0 {
					continue
				}
				mu.Lock()
				found[tr.seed] = strings.Join(bad, "\n") + "\n" + tr.String()
				enough := len(found) >= until
				mu.Unlock()
				if enough {
					next.Store(uint64(n))
				}
			}
		})
	}
	wg.Wait()
	var faults []string
	for _, seed := range slices.Sorted(maps.Keys(found)) {
		faults = append(faults, found[seed])
	}
	return faults
}

// TestMergeTrials: no word is lost, and the laws of a merge hold. MERGES says
// how many trials there are.
func TestMergeTrials(t *testing.T) {
	n := 1500
	if text := os.Getenv("MERGES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("MERGES=%q is no number of merges", text)
		}
	}
	began := time.Now()
	faults := rigMerges(fold.Merge3, 1, n, 3)
	for _, f := range faults {
		t.Error(f)
	}
	t.Logf("merges n=%d bad=%d secs=%.1f", n, len(faults), time.Since(began).Seconds())
}

// TestMergeTrialsCanFail: the trials report a merge with a fault in it.
func TestMergeTrialsCanFail(t *testing.T) {
	// spoiled is Merge3 whose result another function has its way with.
	spoiled := func(spoil func(tr trial, b []byte) []byte) mergeFunc {
		return func(base, ours, theirs []byte, opt fold.MergeOptions) (fold.MergeResult, error) {
			r, err := fold.Merge3(base, ours, theirs, opt)
			if err == nil && !r.Deleted {
				r.Bytes = spoil(trial{base: base, ours: ours, theirs: theirs, opt: opt}, r.Bytes)
			}
			return r, err
		}
	}
	edited := func(b []byte, edits ...fold.KeyEdit) []byte {
		out, err := fold.EditKeys(b, edits...)
		if err != nil {
			return b
		}
		return out
	}
	tagsOf := func(tr trial, b []byte) []string {
		m, err := fold.Decode(tr.opt.Project, tr.opt.Path, b)
		if err != nil {
			return nil
		}
		return m.Tags
	}
	for name, broken := range map[string]mergeFunc{
		"drops the list items of theirs": spoiled(func(tr trial, b []byte) []byte {
			var kept []string
			for line := range strings.Lines(string(b)) {
				if !strings.HasPrefix(line, "- ") || !bytes.Contains(tr.theirs, []byte(line)) || bytes.Contains(tr.ours, []byte(line)) {
					kept = append(kept, line)
				}
			}
			return []byte(strings.Join(kept, ""))
		}),
		"drops callouts": spoiled(func(_ trial, b []byte) []byte {
			var kept []string
			for line := range strings.Lines(string(b)) {
				if !strings.HasPrefix(line, ">") {
					kept = append(kept, line)
				}
			}
			return []byte(strings.Join(kept, ""))
		}),
		"adds sets up": spoiled(func(tr trial, b []byte) []byte {
			all := append(tagsOf(tr, tr.ours), tagsOf(tr, tr.theirs)...)
			slices.Sort(all)
			return edited(b, fold.KeyEdit{Key: "tags", Value: slices.Compact(all)})
		}),
		"drops a key it does not know": spoiled(func(_ trial, b []byte) []byte { return edited(b, fold.KeyEdit{Key: "mood"}) }),
		"asks the clock":               spoiled(func(_ trial, b []byte) []byte { return edited(b, fold.KeyEdit{Key: "updated_at", Value: mergeNow}) }),
		"ends lines its own way":       spoiled(func(_ trial, b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n---\n"), []byte("\n---\r\n")) }),
		"leaves marks": spoiled(func(tr trial, b []byte) []byte {
			if bytes.Equal(b, tr.ours) || bytes.Equal(b, tr.theirs) {
				return b
			}
			return slices.Concat(b, []byte("\n<<<<<<< ours\n"), tr.ours)
		}),
		"takes ours": func(_, ours, _ []byte, _ fold.MergeOptions) (fold.MergeResult, error) {
			return fold.MergeResult{Bytes: ours, Deleted: ours == nil}, nil
		},
		"takes the larger": func(_, ours, theirs []byte, _ fold.MergeOptions) (fold.MergeResult, error) {
			if bytes.Compare(ours, theirs) < 0 {
				ours = theirs
			}
			return fold.MergeResult{Bytes: ours}, nil
		},
		"lets a deletion win": func(base, ours, theirs []byte, opt fold.MergeOptions) (fold.MergeResult, error) {
			if ours == nil || theirs == nil {
				return fold.MergeResult{Deleted: true}, nil
			}
			return fold.Merge3(base, ours, theirs, opt)
		},
		"knows no base": func(_, ours, theirs []byte, opt fold.MergeOptions) (fold.MergeResult, error) {
			return fold.Merge3(nil, ours, theirs, opt)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if faults := rigMerges(broken, 1, 400, 1); len(faults) == 0 {
				t.Error("400 trials do not report it")
			}
		})
	}
}
