package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// A stateMap is what a file of the state folder keeps by path. The store's commit lock
// guards it.
type stateMap[T any] struct {
	of    map[string]T // nil before load
	moved bool         // of is not what the file says
}

// load reads the file, once. Of one that is damaged it takes what can be read: half of
// it is better than none.
func (m *stateMap[T]) load(file string) error {
	if m.of != nil {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state of the checkout: %w", err)
	}
	of := map[string]T{}
	if err == nil {
		_ = json.Unmarshal(b, &of)
	}
	if m.of = of; of == nil { // the file said null
		m.of = map[string]T{}
	}
	return nil
}

// put keeps v for path.
func (m *stateMap[T]) put(path string, v T) { m.of[path], m.moved = v, true }

// drop forgets path.
func (m *stateMap[T]) drop(path string) {
	if _, is := m.of[path]; is {
		delete(m.of, path)
		m.moved = true
	}
}

// save writes the file, if something changed.
func (m *stateMap[T]) save(file string) error {
	if !m.moved {
		return nil
	}
	b, err := json.Marshal(m.of)
	if err == nil {
		err = disk.WriteFile(file, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("state of the checkout: %w", err)
	}
	m.moved = false
	return nil
}
