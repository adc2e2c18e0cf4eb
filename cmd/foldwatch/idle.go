package main

import (
	"net"
	"sync"
	"time"
)

// An idleListener tells when no client has been connected for a while. Nothing
// ticks while one is. It is safe for concurrent use.
type idleListener struct {
	net.Listener
	after time.Duration // 0 is never
	idle  func()

	mu    sync.Mutex // guards the fields below
	open  int
	timer *time.Timer // nil if after is 0
}

func newIdleListener(ln net.Listener, after time.Duration, idle func()) *idleListener {
	l := &idleListener{Listener: ln, after: after, idle: idle}
	if after > 0 {
		l.timer = time.AfterFunc(after, idle)
	}
	return l
}

// Accept counts the connection until it is closed.
func (l *idleListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.count(1)
	return &countedConn{Conn: c, done: sync.OnceFunc(func() { l.count(-1) })}, nil
}

func (l *idleListener) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
	if l.timer == nil {
		return
	}
	if l.open > 0 {
		l.timer.Stop()
	} else {
		l.timer.Reset(l.after)
	}
}

// end stops the watch.
func (l *idleListener) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}

type countedConn struct {
	net.Conn
	done func()
}

func (c *countedConn) Close() error {
	c.done()
	return c.Conn.Close()
}
