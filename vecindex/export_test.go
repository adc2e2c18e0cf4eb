package vecindex

// Dead returns how many tombstones there are.
func (x *Index) Dead() int {
	x.state.mu.RLock()
	defer x.state.mu.RUnlock()
	return x.state.table.deadCount
}

// by searches by s.
func (x *Index) by(s *serving, v []float32, k int, f *Filter) []Hit {
	hits, _ := x.state.search(s, v, k, f)
	return hits
}

// graphOf returns the graph that serves, nil if none does.
func graphOf(x *Index) *graph {
	g, _ := x.state.serving.Load().engine.(*graph)
	return g
}

// Compact drops tombstones, as Apply does by itself when they are a fifth.
func (x *Index) Compact() error {
	x.changing.Lock()
	defer x.changing.Unlock()
	if x.state.table.deadCount == 0 {
		return nil
	}
	x.compactAt = 0
	defer x.wake()
	return x.store.compact()
}
