package rounds

import (
	"testing"
	"time"
)

var start = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

// quiet is a table after a round at start, with nothing to publish, in use.
func quiet() Table {
	return NewTable(Limits{}).Began().Synced(start, false, false, false, 0.5).Used(start)
}

func TestNext(t *testing.T) {
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, tc := range []struct {
		name  string
		table Table
		want  Plan
	}{
		{"just turned on", NewTable(Limits{}), Plan{Do: Round, Publish: true}},
		{"active", quiet(), Plan{Do: Poll, At: at(time.Minute)}},
		{"active, earliest", NewTable(Limits{}).Began().Synced(start, false, false, false, 0).Used(start), Plan{Do: Poll, At: at(54 * time.Second)}},
		{"idle", NewTable(Limits{}).Began().Synced(start, false, false, false, 0.5), Plan{Do: Poll, At: at(15 * time.Minute)}},
		{"idle for long", NewTable(Limits{}).Began().Synced(at(9*time.Minute+time.Second), false, false, false, 0.5).Used(start), Plan{Do: Poll, At: at(24*time.Minute + time.Second)}},
		{"back to work", NewTable(Limits{}).Began().Synced(start, false, false, false, 0.5).Used(at(5 * time.Minute)), Plan{Do: Poll, At: at(5 * time.Minute)}},
		{"own pace", NewTable(Limits{Poll: time.Hour}).Began().Synced(start, false, false, false, 0.5), Plan{Do: Poll, At: at(time.Hour)}},
		{"a change", quiet().Changed(at(10 * time.Second)), Plan{Do: Round, At: at(12 * time.Second), Publish: true}},
		{"a burst is one push", quiet().Changed(at(10 * time.Second)).Changed(at(11 * time.Second)), Plan{Do: Round, At: at(12 * time.Second), Publish: true}},
		{"at most one push in 30 s", quiet().Changed(at(0)).Began().Synced(at(time.Second), true, true, false, 0.5).Changed(at(3 * time.Second)), Plan{Do: Round, At: at(31 * time.Second), Publish: true}},
		{"changed during a round", quiet().Changed(at(0)).Began().Changed(at(time.Second)).Synced(at(2*time.Second), true, true, false, 0.5), Plan{Do: Round, At: at(32 * time.Second), Publish: true}},
		{"what cannot be pushed makes no round", quiet().Changed(at(0)).Began().Synced(at(time.Second), true, false, true, 0.5), Plan{Do: Poll, At: at(61 * time.Second)}},
		{"a poll saw something", quiet().Polled(at(time.Minute), true, 0.5), Plan{Do: Round, Publish: true}},
		{"a webhook, just after a push", quiet().Changed(at(0)).Began().Synced(at(time.Second), true, true, false, 0.5).Told(), Plan{Do: Round}},
		{"webhooks: the first at once", quiet().Hooked(at(time.Second)), Plan{Do: Round, Publish: true}},
		{"webhooks: a burst is one round", quiet().Hooked(at(time.Second)).Hooked(at(1100 * time.Millisecond)), Plan{Do: Round, Publish: true}},
		{"webhooks: one more after the round", quiet().Hooked(at(time.Second)).Began().Hooked(at(1100 * time.Millisecond)).Hooked(at(1200 * time.Millisecond)), Plan{Do: Round, At: at(3 * time.Second), Publish: true}},
		{"webhooks: never more than that", quiet().Hooked(at(time.Second)).Began().Hooked(at(2 * time.Second)).Began().Hooked(at(3 * time.Second)), Plan{Do: Round, At: at(5 * time.Second), Publish: true}},
		{"webhooks: again after a while", quiet().Hooked(at(time.Second)).Began().Hooked(at(3 * time.Second)), Plan{Do: Round, Publish: true}},
		{"webhooks: the user does not wait for them", quiet().Hooked(at(time.Second)).Began().Hooked(at(2 * time.Second)).Asked(false), Plan{Do: Round, Publish: true}},
		{"the user, just after a push", quiet().Changed(at(0)).Began().Synced(at(time.Second), true, true, false, 0.5).Asked(false), Plan{Do: Round, Publish: true}},
		{"offline, once", quiet().Failed(at(0), Error{Kind: Offline}, 0.5), Plan{Do: Round, At: at(2500 * time.Millisecond), Publish: true}},
		{"offline, lucky", quiet().Failed(at(0), Error{Kind: Offline}, 0), Plan{Do: Round, At: at(time.Second), Publish: true}},
		{"offline for long", failed(quiet(), Offline, 50), Plan{Do: Round, At: at(450 * time.Second), Publish: true}},
		{"offline, a webhook", failed(quiet(), Offline, 50).Told(), Plan{Do: Round, At: at(450 * time.Second), Publish: true}},
		{"offline, the user", failed(quiet(), Offline, 50).Asked(false), Plan{Do: Round, Publish: true}},
		{"Retry-After", quiet().Failed(at(0), Error{Kind: Limited, RetryAfter: time.Hour}, 0.5), Plan{Do: Round, At: at(time.Hour), Publish: true}},
		{"Retry-After, the user", quiet().Failed(at(0), Error{Kind: Limited, RetryAfter: time.Hour}, 0.5).Asked(false), Plan{Do: Round, At: at(time.Hour), Publish: true}},
		{"not let in", quiet().Failed(at(0), Error{Kind: Auth}, 0.5).Changed(at(time.Hour)).Told(), Plan{}},
		{"not let in, the user", quiet().Failed(at(0), Error{Kind: Auth}, 0.5).Asked(false), Plan{Do: Round, Publish: true}},
		{"not let in, before the start", NewTable(Limits{}).Stopped(Auth), Plan{}},
		{"refused", quiet().Failed(at(0), Error{Kind: Refused}, 0.5), Plan{}},
		{"rewritten, the user", quiet().Failed(at(0), Error{Kind: Rewritten}, 0.5).Asked(false), Plan{}},
		{"rewritten, resync", quiet().Failed(at(0), Error{Kind: Rewritten}, 0.5).Asked(true), Plan{Do: Round, Publish: true}},
		{"policy: fetched on", quiet().Changed(at(0)).Failed(at(0), Error{Kind: Policy}, 0.5), Plan{Do: Poll, At: at(time.Minute)}},
		{"policy: nothing pushed", quiet().Changed(at(0)).Failed(at(0), Error{Kind: Policy}, 0.5).Polled(at(time.Minute), true, 0.5), Plan{Do: Round}},
		{"policy, before the start", NewTable(Limits{}).Stopped(Policy), Plan{Do: Round}},
		{"policy, the user", quiet().Changed(at(0)).Failed(at(0), Error{Kind: Policy}, 0.5).Asked(false), Plan{Do: Round, Publish: true}},
		{"guard", quiet().Changed(at(0)).Held("files vanished"), Plan{}},
		{"guard gone", quiet().Changed(at(0)).Held("files vanished").Held(""), Plan{Do: Round, At: at(2 * time.Second), Publish: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.table.Next()
			if got.Do != tc.want.Do || got.Publish != tc.want.Publish || !got.At.Equal(tc.want.At) {
				t.Errorf("Next() = %+v, want %+v", got, tc.want)
			}
		})
	}
}

func failed(t Table, k Kind, times int) Table {
	for range times {
		t = t.Failed(start, Error{Kind: k}, 0.5)
	}
	return t
}

func TestPaused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		table Table
		want  Pause
		ok    bool
	}{
		{"no", quiet(), Pause{}, false},
		{"auth", quiet().Failed(start, Error{Kind: Auth}, 0), Pause{Kind: Auth}, true},
		{"policy", quiet().Failed(start, Error{Kind: Policy}, 0), Pause{Kind: Policy, OnlyPush: true}, true},
		{"guard", quiet().Held("x"), Pause{Held: "x"}, true},
		{"offline", quiet().Failed(start, Error{Kind: Missing}, 0), Pause{Kind: Offline, Until: start.Add(time.Second)}, true},
		{"back again", quiet().Failed(start, Error{Kind: Missing}, 0).Polled(start, false, 0), Pause{}, false},
		{"limited", quiet().Failed(start, Error{Kind: Limited, RetryAfter: time.Hour}, 0), Pause{Kind: Limited, Until: start.Add(time.Hour)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, ok := tc.table.Paused(); got != tc.want || ok != tc.ok {
				t.Errorf("Paused() = %+v, %v, want %+v, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}
