package textindex

// The text of a whole file is that of its chunks, which partition it. It is not
// indexed a second time: what a term has in a file is added up from its chunks
// when a question asks.

// fileTexts say which file every chunk belongs to, and how long files are. They are
// made for one snapshot, and read by all searches of it.
type fileTexts struct {
	of     []uint32 // by document: that of the memory of the file; nowhere for none
	length []uint32 // by document of a file: terms of the bodies of its chunks
	mean   float64  // length of a file

	leaves []leaf // of the snapshot
}

const nowhere = ^uint32(0)

// fileTextsOf returns those of s, which is the newest snapshot or was a moment ago.
func (x *Index) fileTextsOf(s *snapshot) *fileTexts {
	if w := x.fileTexts.Load(); w != nil && w.fits(s) {
		return w
	}
	x.fileTextsMu.Lock() // all who search after a change wait for one
	defer x.fileTextsMu.Unlock()
	if w := x.fileTexts.Load(); w != nil && w.fits(s) {
		return w
	}
	w := newFileTexts(s)
	x.fileTexts.Store(w)
	return w
}

// fits reports whether w was made for the segments of s, and what is deleted in
// them. Bleve never changes a set of deleted documents, it makes another.
func (w *fileTexts) fits(s *snapshot) bool {
	if len(w.leaves) != len(s.leaves) {
		return false
	}
	for i := range w.leaves {
		if a, b := &w.leaves[i], &s.leaves[i]; a.segment != b.segment || a.deleted != b.deleted {
			return false
		}
	}
	return true
}

func newFileTexts(s *snapshot) *fileTexts {
	w := &fileTexts{of: make([]uint32, s.docs), length: make([]uint32, s.docs), leaves: s.leaves}
	present := s.liveSet()
	byMemory := make(map[uint64]uint32, s.live[fileKind])
	for i := range s.leaves {
		l := &s.leaves[i]
		for d := l.first[fileKind]; d < l.first[fileKind+1]; d++ {
			if n := l.offset + d; present.has(n) {
				byMemory[hash(l.value(l.ownerOf(d), ownerMemory))] = n
				w.of[n] = n
			}
		}
	}
	total := 0
	for i := range s.leaves {
		l := &s.leaves[i]
		files := make([]uint32, l.owned) // by owner
		for o := range files {
			file, ok := byMemory[hash(l.value(uint32(o), ownerMemory))]
			if !ok {
				file = nowhere
			}
			files[o] = file
		}
		for _, k := range [...]int{chunkKind, sectionKind} {
			for d := l.first[k]; d < l.first[k+1]; d++ {
				n, file := l.offset+d, files[l.ownerOf(d)]
				if !present.has(n) {
					file = nowhere
				}
				if w.of[n] = file; file != nowhere {
					length := l.length(k, body, d-l.first[k])
					w.length[file] += length
					total += int(length)
				}
			}
		}
	}
	w.mean = float64(total) / float64(max(len(byMemory), 1))
	return w
}

// readTexts adds up how often t stands in the text of every file. It does nothing
// for other kinds.
func (c *kindSearch) readTexts(t *termPostings) error {
	a := c.acc
	for _, l := range t.texts {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		of := c.fileTexts.of[l.leaf.offset+l.leaf.first[l.kind]:]
		p := l.list.walk()
		for n := p.fill(&a.batch); n > 0; n = p.fill(&a.batch) {
			for i, doc := range a.batch.docs[:n] {
				n, file := uint32(a.batch.counts[i].of(body)), of[doc]
				if n == 0 || file == nowhere {
					continue
				}
				if a.text[file] == 0 {
					a.texts = append(a.texts, file)
				}
				a.text[file] += n
			}
		}
	}
	return nil
}

// weighFile is weighAll for all kinds. text is how often the term stands in the
// text of a file; the body of its own document describes it and counts as context.
func (c *kindSearch) weighFile(seg *segment, d, n uint32, counts counts, text uint32) termScore {
	var s termScore
	if c.k != fileKind {
		s = c.weighAll(seg, n, counts)
		s.doc = d
		return s
	}
	described := counts.of(body)
	if counts &^= bodyMost; counts != 0 {
		s = c.weighAll(seg, n, counts)
	}
	if described > 0 {
		s.tf += float32(c.scoring.weight[about] * c.weigh(about, described, seg.length(c.k, body, n)))
	}
	if text > 0 {
		s.body = float32(c.scoring.weight[body] * c.weigh(body, uint64(text), c.fileTexts.length[d]))
		s.tf += s.body
	}
	s.doc = d
	return s
}
