package daemon

import (
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/checkout"
)

// counters returns what was done since the start: for all checkouts, those that
// were removed included, and by the parts that they share.
func (d *Daemon) counters() map[string]int64 {
	out := map[string]int64{}
	add := func(more map[string]int64) {
		for name, n := range more {
			out[name] += n
		}
	}
	d.mu.Lock()
	add(d.removed)
	for _, co := range d.checkouts {
		add(co.Count.Values())
	}
	d.mu.Unlock()
	out["git_processes"] += d.gitProcesses.Load()
	out["vector_cache_hits"], out["embeds"], out["embed_calls"] = d.parts.Models.Counters()
	out["events"], _, out["event_listeners_dropped"] = d.parts.Events.Counts()
	if p, ok := d.parts.Cutter.(*chunker.Pool); ok {
		s := p.Stats()
		out["parser_crashes"], out["parser_timeouts"], out["parser_restarts"] = int64(s.Crashes), int64(s.Timeouts), int64(s.Restarts)
	}
	return out
}

// keepCounts adds what was done for a checkout that is removed to what was done
// in all, which never goes back. d.mu is held.
func (d *Daemon) keepCounts(co *checkout.Checkout) {
	if d.removed == nil {
		d.removed = map[string]int64{}
	}
	for name, n := range co.Count.Values() {
		d.removed[name] += n
	}
}
