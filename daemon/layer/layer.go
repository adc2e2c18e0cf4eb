// Package layer keeps the events of sessions in memory while they last: the first layer
// of seed 003. Nothing is stored on disk.
package layer

import (
	"container/list"
	"sync"
	"time"
)

// The bounds of seed 003, layer 1, and one for all sessions together.
const (
	TTL      = time.Hour // after which an item is forgotten
	PerOwner = 1000      // items of a session
	MaxBytes = 32 << 20  // of all sessions
)

// A Key names a session of a project.
type Key struct{ Project, Session string }

// An Item is one event of a session. Data is not interpreted.
type Item struct {
	At   time.Time
	Type string
	Data []byte
}

// A Memory has the items of all sessions. It is safe for concurrent use.
type Memory struct {
	now func() time.Time

	mu    sync.Mutex
	all   *list.List // of *held, oldest first
	by    map[Key][]*list.Element
	bytes int
}

type held struct {
	key  Key
	item Item
}

// New returns an empty Memory. Now is the clock; nil means time.Now.
func New(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, all: list.New(), by: map[Key][]*list.Element{}}
}

// Add adds an item for [TTL]. The oldest is dropped if a session has more than
// [PerOwner], or all together more than [MaxBytes].
func (m *Memory) Add(key Key, typ string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	e := m.all.PushBack(&held{key, Item{m.now(), typ, data}})
	m.by[key] = append(m.by[key], e)
	m.bytes += size(e)
	for len(m.by[key]) > PerOwner {
		m.remove(m.by[key][0])
	}
	for m.bytes > MaxBytes && m.all.Len() > 1 {
		m.remove(m.all.Front())
	}
}

// Items returns the items of a session, oldest first.
func (m *Memory) Items(key Key) []Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	items := make([]Item, 0, len(m.by[key]))
	for _, e := range m.by[key] {
		items = append(items, e.Value.(*held).item)
	}
	return items
}

// forget removes expired items.
func (m *Memory) forget() {
	for e := m.all.Front(); e != nil && m.now().Sub(e.Value.(*held).item.At) > TTL; e = m.all.Front() {
		m.remove(e)
	}
}

// remove removes the oldest item of a session.
func (m *Memory) remove(e *list.Element) {
	h := e.Value.(*held)
	m.bytes -= size(e)
	m.all.Remove(e)
	if m.by[h.key] = m.by[h.key][1:]; len(m.by[h.key]) == 0 {
		delete(m.by, h.key)
	}
}

func size(e *list.Element) int {
	h := e.Value.(*held)
	return len(h.item.Data) + len(h.item.Type) + len(h.key.Project) + len(h.key.Session) + 128
}
