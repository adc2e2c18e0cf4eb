package conf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"

	"github.com/foldwatch/foldwatch/meta/conf"
)

// entry is what setup writes.
type entry struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

var mcp = []string{"mcpServers", "foldwatch"}

// valueAt returns the value at path as plain JSON, and whether there is one.
func valueAt(b []byte, path []string) (at json.RawMessage, ok bool, err error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, false, nil
	}
	at, err = hujson.Standardize(append(bytes.Clone(b), '\n'))
	for _, name := range path {
		var object map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(at, &object)
		}
		if at, ok = object[name]; err != nil || !ok {
			return nil, false, err
		}
	}
	return at, true, nil
}

func roundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, in []byte, path []string, value any,
) []byte {
	t.Helper()
	set, err := conf.SetJSONC(in, path, value)
	if err != nil {
		t.Fatalf("SetJSONC(%q) = %v", in, err)
	}
	raw, ok, err := valueAt(set, path)
	want, _ := json.Marshal(value)
	if err != nil || !ok || !bytes.Equal(compact(raw), compact(want)) {
		t.Fatalf("SetJSONC(%q) =\n%s\nwhose value is %s, %v, %v", in, set, raw, ok, err)
	}
	again, err := conf.SetJSONC(set, path, value)
	if err != nil || !bytes.Equal(again, set) {
		t.Fatalf("setting twice gives\n%s, %v\nafter\n%s", again, err, set)
	}
	removed, err := conf.RemoveJSONC(set, path)
	if err != nil || !bytes.Equal(removed, in) {
		t.Fatalf("set then remove of %q =\n%q, %v, after\n%s", in, removed, err, set)
	}
	return set
}

func compact(b []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}

func TestSetJSONCLayout(t *testing.T) {
	value := entry{Command: "foldwatch", Args: []string{"mcp"}}
	for _, tc := range []struct{ name, in, want string }{
		{"empty file", "", "{ \"mcpServers\": {\n    \"foldwatch\": {\n      \"command\": \"foldwatch\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n"},
		{"empty object", "{}", "{\n  \"mcpServers\": {\n    \"foldwatch\": {\n      \"command\": \"foldwatch\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}"},
		{"others", "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"other\": {},\n    \"foldwatch\": {\n      \"command\": \"foldwatch\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n"},
		{"tabs, comments, trailing commas", "// mine\n{\n\t\"a\": 1, // one\n\t/* two */\n}\n", "// mine\n{\n\t\"a\": 1, // one\n\t/* two */\n\t\"mcpServers\": {\n\t\t\"foldwatch\": {\n\t\t\t\"command\": \"foldwatch\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t},\n}\n"},
		{"four spaces, CRLF", "{\r\n    \"a\": {\r\n    }\r\n}", "{\r\n    \"a\": {\r\n    },\r\n    \"mcpServers\": {\r\n        \"foldwatch\": {\r\n            \"command\": \"foldwatch\",\r\n            \"args\": [\"mcp\"]\r\n        }\r\n    }\r\n}"},
	} {
		if got := roundTrip(t, []byte(tc.in), mcp, value); string(got) != tc.want {
			t.Errorf("%s: SetJSONC =\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// corpus holds every shape of file that setup may meet.
func corpus() []string {
	return []string{
		"", "\n", "  ", "\r\n", "\xef\xbb\xbf", "{}", "{ }", "{\n}", "{\n}\n", "{}\n\n", " {} ", "\xef\xbb\xbf{}", "\xef\xbb\xbf{\r\n}\r\n", "{ /* none */ }", "{\n  // none\n}\n", "// top\n{}\n// end", "{}// end",
		`{"mcpServers":{}}`, `{"mcpServers": { }}`, "{\n  \"mcpServers\": {\n  }\n}\n", "{\"mcpServers\":{/*x*/}}", "{\"mcpServers\":{\n//x\n}}", "{ \"mcpServers\": {} }", "{ \"mcpServers\": {}, }",
		`{"a":1}`, `{"a":1,}`, `{ "a": 1 }`, `{ "a": 1 , }`, "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n}\n", "{\n\t\"a\": [1,\n\t\t2],\n\n\n}", "{\"a\":1/*x*/,/*y*/}", "{\"a\":1//x\n}", "{\"a\":1,//x\n}", "{\"a\":1//x\n,//y\n\n//z\n}",
		`{"mcpServers":{"x":1}}`, `{"mcpServers":{"x":{},},}`, "{\"mcpServers\" : /*1*/ {\n\"x\" /*2*/ : /*3*/ 1 /*4*/\n}\n}", "{\r\n\"mcpServers\":{\r\n\"x\":1\r\n}\r\n}\r\n", "{\"mcpServers\":{\"foldwatch2\":1}}", "{\"MCPSERVERS\":{}}", "{\"a\":\"}{\",\"b\":\"\\\"\"}",
		"{\n  \"a\": 1 }\n", "{ \"a\": 1\n}\n", "{\n\n\n}", "{\"a\":{\"b\":{}},\"mcpServers\":{\"x\":[]}}", "{\n        \"a\": {\n                \"b\": 1\n        }\n}",
	}
}

func TestSetThenRemoveJSONCIsIdentity(t *testing.T) {
	for _, in := range corpus() {
		for _, path := range [][]string{{"foldwatch"}, mcp, {"mcpServers", "new", "foldwatch"}, {"a~/b", "c\"d"}} {
			for _, value := range []any{entry{"foldwatch", []string{"mcp", "--project", "x"}}, "text", 1, true, map[string]any{}, []any{}, map[string]any{"a": []any{map[string]any{"b": nil}}}} {
				roundTrip(t, []byte(in), path, value)
			}
		}
	}
}

// jsonc generates files of every layout a person may have.
func jsonc() *rapid.Generator[string] {
	ws := rapid.SampledFrom([]string{"", "", "", " ", "\n", "\n  ", "\n\t", "\r\n", "\n\n", " // c\n", "/* c */", "\n  // c\n  ", " /* a */ // b\n"})
	var object func(depth int) *rapid.Generator[string]
	object = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			var b strings.Builder
			b.WriteString("{")
			n := rapid.IntRange(0, 3).Draw(t, "members")
			for i := range n {
				name := rapid.SampledFrom([]string{"mcpServers", "a", "b", "x y"}).Draw(t, "name")
				if strings.Contains(b.String(), `"`+name) || name == "mcpServers" && depth > 0 {
					name = fmt.Sprintf("k%d", i)
				}
				value := rapid.SampledFrom([]string{"1", `"s"`, "[1, 2]", "null", "{}"}).Draw(t, "value")
				if depth < 2 && (name == "mcpServers" || rapid.Bool().Draw(t, "nested")) {
					value = object(depth+1).Draw(t, "object")
				}
				b.WriteString(ws.Draw(t, "ws") + `"` + name + `"` + ws.Draw(t, "ws") + ":" + ws.Draw(t, "ws") + value + ws.Draw(t, "ws"))
				if i < n-1 || rapid.Bool().Draw(t, "comma") {
					b.WriteString(",")
				}
			}
			b.WriteString(ws.Draw(t, "ws") + "}")
			return b.String()
		})
	}
	return rapid.Custom(func(t *rapid.T) string {
		return ws.Draw(t, "ws") + object(0).Draw(t, "root") + ws.Draw(t, "ws")
	})
}

func TestSetThenRemoveJSONCIsIdentityForAnyLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := jsonc().Draw(t, "file")
		path := rapid.SampledFrom([][]string{{"foldwatch"}, mcp, {"mcpServers", "n", "foldwatch"}}).Draw(t, "path")
		roundTrip(t, []byte(in), path, entry{"foldwatch", []string{"mcp"}})
	})
}

func TestRemoveJSONCKeepsWhatCameLater(t *testing.T) {
	set := roundTrip(t, []byte("{}\n"), mcp, 1)
	later := strings.Replace(string(set), `"foldwatch": 1`, `"foldwatch": 1, // ours
    "theirs": 2`, 1)
	got, err := conf.RemoveJSONC([]byte(later), mcp)
	if err != nil || !strings.Contains(string(got), `"theirs": 2`) || strings.Contains(string(got), "foldwatch") {
		t.Errorf("RemoveJSONC(%s) = %s, %v", later, got, err)
	}
	if _, _, err := valueAt(got, mcp); err != nil {
		t.Errorf("what is left does not parse: %v\n%s", err, got)
	}
}

func TestSetJSONCReplacesOnlyTheValue(t *testing.T) {
	in := "{\n  // before\n  \"mcpServers\": { \"foldwatch\": {\"command\": \"old\"} /* after */ },\n}\n"
	got, err := conf.SetJSONC([]byte(in), mcp, "new")
	want := strings.Replace(in, `{"command": "old"}`, `"new"`, 1)
	if err != nil || string(got) != want {
		t.Errorf("SetJSONC = %q, %v; want %q", got, err, want)
	}
}

func TestSetJSONCRefuses(t *testing.T) {
	for _, in := range []string{"{", "[]", "1", `{"mcpServers": 1}`, `{"mcpServers": {}, "mcpServers": {}}`, "{} {}", "// only a comment", strings.Repeat("[", 100_000), `{"a": ` + strings.Repeat("{", 5000)} {
		if got, err := conf.SetJSONC([]byte(in), mcp, 1); err == nil {
			t.Errorf("SetJSONC(%.40q) = %q, want an error", in, got)
		}
		if len(in) < 100 && !strings.HasPrefix(in, "[") && !strings.HasPrefix(in, "1") {
			continue
		}
		if got, err := conf.RemoveJSONC([]byte(in), mcp); err == nil {
			t.Errorf("RemoveJSONC(%.40q) = %.40q, want an error", in, got)
		}
	}
}

func FuzzJSONC(f *testing.F) {
	for _, in := range corpus() {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, had, err := valueAt(in, mcp)
		if err != nil || had {
			return
		}
		set, err := conf.SetJSONC(in, mcp, entry{"foldwatch", []string{"mcp"}})
		if err != nil {
			return
		}
		removed, err := conf.RemoveJSONC(set, mcp)
		if err != nil || !bytes.Equal(removed, in) {
			t.Errorf("set then remove of %q = %q, %v\nafter %q", in, removed, err, set)
		}
	})
}
