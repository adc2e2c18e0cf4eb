package gitops

import "bytes"

// maxDisplaced is how many versions of one file are remembered until they are
// committed; editors do not save faster than that between two commits.
const maxDisplaced = 8

// noteDisplaced remembers what somebody had saved at path just before we put
// our version there for a moment and took it back (G9). Who read the file in
// that moment saves over b without having seen it: b goes into the journal, so
// that it is not lost then. A nil b is a file that was gone.
func (s *Store) noteDisplaced(path string, b []byte) {
	if len(b) == 0 || !allowed(path) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.displaced == nil {
		s.displaced = map[string][][]byte{}
	}
	list := s.displaced[path]
	if n := len(list); n > 0 && bytes.Equal(list[n-1], b) || n >= maxDisplaced {
		return
	}
	s.displaced[path] = append(list, bytes.Clone(b))
}

// takeDisplaced returns what was remembered of path, oldest first, and forgets
// it. What is on disk now needs no keeping.
func (s *Store) takeDisplaced(path string, disk []byte) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list [][]byte
	for _, b := range s.displaced[path] {
		if !bytes.Equal(b, disk) {
			list = append(list, b)
		}
	}
	delete(s.displaced, path)
	return list
}
