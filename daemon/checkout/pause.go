package checkout

import "time"

// A pause stops watching and committing of a checkout. It is a value without clock or
// lock.
type pause struct {
	on     bool
	until  time.Time // when it ends by itself; zero if it lasts until the user ends it
	missed bool      // changes came meanwhile: a sweep finds them afterwards
}

// ends returns when the pause ends by itself; false if it does not, or there is none.
func (p *pause) ends() (time.Time, bool) { return p.until, p.on && !p.until.IsZero() }

// takeMissed reports whether changes were missed, for a sweep that is made now.
func (p *pause) takeMissed() bool {
	missed := p.missed
	p.missed = false
	return missed
}
