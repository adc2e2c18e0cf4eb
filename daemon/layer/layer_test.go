package layer_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/layer"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := layer.New(func() time.Time { return at })
	one, two := layer.Key{Project: "p", Session: "1"}, layer.Key{Project: "p", Session: "2"}
	for i := range layer.PerOwner + 5 {
		m.Add(one, "edit", fmt.Append(nil, i))
	}
	m.Add(two, "error", []byte("x"))
	if got := m.Items(one); len(got) != layer.PerOwner || string(got[0].Data) != "5" {
		t.Errorf("a session holds %d items from %q", len(got), got[0].Data)
	}
	at = at.Add(layer.TTL / 2)
	m.Add(two, "edit", []byte("y"))
	at = at.Add(layer.TTL/2 + 1)
	if got := m.Items(one); len(got) != 0 {
		t.Errorf("%d items outlived their time", len(got))
	}
	if got := m.Items(two); len(got) != 1 || string(got[0].Data) != "y" {
		t.Errorf("the other session holds %v", got)
	}
	for range 40 {
		m.Add(one, "big", bytes.Repeat([]byte("z"), 1<<20))
	}
	if got := m.Items(one); len(got) != 31 {
		t.Errorf("%d items of 1 MiB are held, of 32 MiB", len(got))
	}
	if got := m.Items(two); len(got) != 0 {
		t.Errorf("the oldest stayed: %v", got)
	}
}
