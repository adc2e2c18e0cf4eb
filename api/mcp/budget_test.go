package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/tokens"
)

// TestBudgetsAreKept asks with ever larger budgets and follows the pages: the whole
// result stays within, and every memory is on exactly one page.
func TestBudgetsAreKept(t *testing.T) {
	doors := apitest.New("app", "lib")
	s := connect(t, doors, "2026-07-28", nil, nil)
	first := ""
	for i := range 30 {
		in := map[string]any{
			"content": strings.Repeat("Quokkas are fed at noon. 袋鼠 ", 1+i), "title": fmt.Sprintf("Rule %d of the house of marsupials", i),
			"project": []string{"app", "lib"}[i%2], "author": "ada", "tags": []string{"zoo", "food"},
		}
		added := get[wire.WriteReply](t, use(t, s, "memory_add", in))
		if first == "" {
			first = added.ID
		}
		if i > 1 && i%2 == 0 {
			use(t, s, "memory_link_add", map[string]any{"source_id": first, "target_id": added.ID, "project": "app"})
		}
	}
	size := func(tool string, args map[string]any) (n int, reply wire.SearchReply, said string) {
		t.Helper()
		res := use(t, s, tool, args)
		if res.IsError {
			t.Fatalf("%s %v: %s", tool, args, text(res))
		}
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &reply); err != nil {
			t.Fatal(err)
		}
		said = text(res)
		return tokens.Count(string(b)) + tokens.Count(said), reply, said
	}
	for budget := 600; budget <= 6000; budget += 450 {
		for tool, args := range map[string]map[string]any{
			"memory_search":   {"query": "quokkas", "all_projects": true, "explain": budget%4 == 0},
			"codebase_search": {"query": "quokkas", "project": "lib", "limit": 7},
			"memory_context":  {"id": first, "project": "app"},
		} {
			args["token_budget"] = budget
			n, reply, said := size(tool, args)
			if n > budget {
				t.Errorf("%s: %d tokens for a budget of %d", tool, n, budget)
			}
			if reply.Omitted > 0 && !strings.Contains(said, "left out") {
				t.Errorf("%s does not say that %d are missing:\n%s", tool, reply.Omitted, said)
			}
		}
	}
	args := map[string]any{"query": "quokkas", "all_projects": true, "limit": 50, "token_budget": 1500}
	seen := map[string]int{}
	for range 40 {
		_, reply, said := size("memory_search", maps.Clone(args))
		for _, r := range reply.Results {
			seen[r.Project+"/"+r.ID]++
		}
		if reply.NextCursor == "" {
			break
		}
		if !strings.Contains(said, reply.NextCursor) {
			t.Fatalf("the text does not name the next page:\n%s", said)
		}
		args["cursor"] = reply.NextCursor
	}
	if len(seen) != 30 {
		t.Errorf("the pages hold %d of 30 memories", len(seen))
	}
	for id, n := range seen {
		if n != 1 || !strings.Contains(id, "/") || strings.HasPrefix(id, "/") {
			t.Errorf("%q is on %d pages", id, n)
		}
	}
	for _, bad := range []map[string]any{{"query": "quokkas", "project": "app", "token_budget": 10}, {"query": "quokkas", "project": "app", "cursor": "nonsense"}} {
		if res := use(t, s, "memory_search", bad); !res.IsError || !strings.Contains(text(res), "cursor") && !strings.Contains(text(res), "300") {
			t.Errorf("%v: %s", bad, text(res))
		}
	}
}

// remoteDoors are of a project whose remote has another version of every memory.
type remoteDoors struct {
	*apitest.Doors
	remote *wire.RemoteVersion
}

func (d remoteDoors) GetMemory(ctx context.Context, sc fold.Scope, slug, id string) (wire.Memory, error) {
	m, err := d.Doors.GetMemory(ctx, sc, slug, id)
	m.Remote = d.remote
	return m, err
}

// TestRemoteVersionIsClipped: of a memory that is got the remote's version comes in
// part, with where all of it is, and not at all beside lines that were asked for.
func TestRemoteVersionIsClipped(t *testing.T) {
	for name, of := range map[string]string{"words": "The keeper feeds quokkas. ", "ideographs": "袋鼠在动物园里吃草。", "no spaces": "x9Q"} {
		all := strings.Repeat(of, 1<<20/len(of))
		doors := remoteDoors{apitest.New("app"), &wire.RemoteVersion{Title: "Told anew", Context: all[:6000], Tags: strings.SplitAfter(all[:9000], " "), Content: all}}
		s := connect(t, doors, "2026-07-28", nil, nil)
		id := get[wire.WriteReply](t, use(t, s, "memory_add", map[string]any{"title": "Told", "content": "first\nsecond\n"})).ID
		read := func(args map[string]any) string {
			t.Helper()
			args["id"] = id
			res := use(t, s, "memory_get", args)
			b, err := json.Marshal(res.StructuredContent)
			if err != nil || res.IsError {
				t.Fatalf("%v: %s", err, text(res))
			}
			for half, in := range map[string]string{"data": string(b), "text": text(res)} {
				if n := tokens.Count(in); n > 2000 {
					t.Errorf("%s: the %s has %d tokens", name, half, n)
				}
			}
			return string(b) + "\n" + text(res)
		}
		said := read(map[string]any{})
		for _, want := range []string{"second", of[:3], "is clipped", "foldwatch show " + id + " --project app", "/api/projects/app/memories/" + id} {
			if strings.Count(said, want) < 2 {
				t.Errorf("%s: data and text do not both say %q:\n%s", name, want, said)
			}
		}
		said = read(map[string]any{"start_line": 2, "end_line": 2})
		if strings.Contains(said, of) || !strings.Contains(said, `"changed_on_remote":true`) || !strings.Contains(said, "branch has another version") {
			t.Errorf("%s: beside lines: %s", name, said)
		}
		*doors.remote = wire.RemoteVersion{Title: "Told anew", Content: "All of it."}
		if said = read(map[string]any{}); strings.Count(said, "All of it.") != 2 || strings.Contains(said, "clipped") {
			t.Errorf("%s: a short one: %s", name, said)
		}
	}
}
