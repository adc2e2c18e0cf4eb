package checkout

import (
	"math"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest"
)

// TestMeterTellsRateAndTimeLeft shows that the first seconds give a rate, that
// the rate follows the last seconds, and that nothing goes back.
func TestMeterTellsRateAndTimeLeft(t *testing.T) {
	t.Parallel()
	var m meter
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	step := func(after time.Duration, done int, bytes int64) (perSecond, eta float64) {
		p := m.take(at.Add(after), ingest.Step{Stage: "indexing text", Done: done, Total: 1000, Bytes: bytes, BytesTotal: 100_000})
		return p.PerSecond, p.ETASeconds
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/100 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	if rate, eta := step(0, 0, 0); rate != 0 || eta != 0 {
		t.Errorf("at once: %v a second, %v left", rate, eta)
	}
	if rate, _ := step(200*time.Millisecond, 90, 100); rate != 0 {
		t.Errorf("after 0.2 s: %v a second", rate)
	}
	rate, eta := step(2*time.Second, 200, 20_000)
	near("rate after 2 s", rate, 100)
	near("time left after 2 s", eta, 8)
	for s := 3; s <= 30; s++ { // ten times slower from here on
		rate, eta = step(time.Duration(s)*time.Second, 200+10*(s-2), int64(20_000+1000*(s-2)))
	}
	near("rate after a slow time", rate, 10)
	near("time left after a slow time", eta, 52)
	if p := m.take(at.Add(30*time.Second), ingest.Step{Stage: "indexing text", Done: 3, Total: 1000}); p.Done != 480 || p.BytesTotal != 100_000 {
		t.Errorf("a late step goes back to %+v", p)
	}
	if p := m.take(at.Add(31*time.Second), ingest.Step{Stage: "embedding", Done: 1, Total: 9}); p.Done != 1 || p.PerSecond != 0 || p.Bytes != 0 {
		t.Errorf("the next stage begins with %+v", p)
	}
}

// TestMeterWithoutBytes shows the time left where only files are counted.
func TestMeterWithoutBytes(t *testing.T) {
	t.Parallel()
	var m meter
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	m.take(at, ingest.Step{Stage: "describing", Total: 10})
	p := m.take(at.Add(5*time.Second), ingest.Step{Stage: "describing", Done: 5, Total: 10})
	if p.PerSecond != 1 || p.ETASeconds != 5 || p.BytesPerSecond != 0 {
		t.Errorf("%+v", p)
	}
	if p := m.take(at.Add(6*time.Second), ingest.Step{Stage: "describing", Done: 10, Total: 10}); p.ETASeconds != 0 {
		t.Errorf("at the end %v s are left", p.ETASeconds)
	}
}
