package vecindex

// Dead returns how many tombstones there are.
func (x *Index) Dead() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.t.deadCount
}
