package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// canary is in every text that is the user's.
const canary = "canary"

// fill puts the canary into every string that v holds, as a path and in words.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("/home/" + canary + "/Quokka secret")
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f, depth)
			}
		}
	case reflect.Pointer:
		if depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(k, depth+1)
		fill(x, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, x)
	}
}

func TestBugReportHasNothingOfTheUsers(t *testing.T) {
	d := newDigester()
	var st wire.Status
	fill(reflect.ValueOf(&st).Elem(), 0)
	var u serviceReport
	fill(reflect.ValueOf(&u).Elem(), 0)
	log := d.log([]byte(strings.Join([]string{
		`time=2026-11-22T15:00:00Z level=INFO msg="Pulled" commits=3 took=12ms path=/home/canary/x err="push: canary \"x canary\" msg=canary"`,
		`2026-11-22T15:00:00 pc foldwatch[7]: time=2026-11-22T15:00:00Z level=WARN msg=Refused uid=7 title=canary level=canary`,
		`canary panicked here`, `time=canary`, `time=canary level=canary msg=canary`,
	}, "\n")))
	b, err := json.Marshal([]any{d.value(st), d.value(u), log, d.dotted("projects.canary.exclude"), d.dotted("auth.providers.canary.issuer"), d.dotted("projects.a.canary.chunk.min_lines"), d.text("canary@example.invalid")})
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.Index(string(b), canary); i >= 0 || strings.Contains(string(b), "Quokka") {
		t.Errorf("the report has %s", b[max(0, i-80):min(len(b), i+80)])
	}
	want := []string{
		`time=2026-11-22T15:00:00Z level=INFO msg="Pulled" commits=3 took=12ms path=~`,
		`time=2026-11-22T15:00:00Z level=WARN msg=Refused uid=7 title=~`,
	}
	if len(log) != len(want) {
		t.Fatalf("log = %q", log)
	}
	for i := range want {
		if !strings.HasPrefix(log[i], want[i]) {
			t.Errorf("log line %q, want it to begin with %q", log[i], want[i])
		}
	}
}

func TestBugReportTellsWhatHelps(t *testing.T) {
	d := newDigester()
	var st wire.Status
	st.Version, st.PID = "0.1.0", 7
	st.Projects = []wire.ProjectStatus{{Slug: "a", State: "ready"}, {Slug: "a", State: "failed"}}
	b, err := json.Marshal(d.value(st))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version  string
		PID      int
		Projects []struct{ Slug, State string }
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	p := got.Projects
	if got.Version != "0.1.0" || got.PID != 7 || len(p) != 2 || p[0].State != "ready" || p[1].State != "failed" || p[0].Slug != p[1].Slug || p[0].Slug == "a" {
		t.Errorf("the report says %s", b)
	}
}
