package chunker

// Forgive has files parsed again on which a worker crashed or hung.
func (p *Pool) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.marked)
}
