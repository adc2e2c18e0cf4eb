package api

import "net/http"

// Redeclare gives the route called id another class, as a slip in the table
// would: what is to find such slips is tried on it.
func (s *Server) Redeclare(id string, a Access) {
	for pattern, r := range s.routes {
		if r.ID == id {
			r.Access = a
			s.routes[pattern] = r
		}
	}
}

// OtherAt returns the handler of a listener at a loopback port.
func (s *Server) OtherAt(port string) http.Handler {
	return newGate(s, &TCPListener{port: port, loopbackOnly: true})
}

// Fill has the server answer as many requests, and streams, as it ever does.
func (s *Server) Fill() {
	for range maxRequests {
		s.owner.requests <- struct{}{}
	}
	for range maxStreams {
		s.owner.streams <- struct{}{}
	}
}

// BodyLimit is how many bytes of a body are taken.
func (r Route) BodyLimit() int64 { return r.limit() }
