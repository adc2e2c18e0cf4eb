package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/tokens"
)

// TestBudgetsAreKept asks with ever larger budgets and follows the pages: the whole
// result stays within, and every memory is on exactly one page.
func TestBudgetsAreKept(t *testing.T) {
	handlers := apitest.New("app", "lib")
	s := connect(t, handlers, "2026-07-28", nil, nil)
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
