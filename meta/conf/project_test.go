package conf_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
)

func project() conf.Project {
	return conf.Project{
		ID: "proj_5f0c", Slug: "my-app", Name: "My \"App\" \\ Ünï", CreatedAt: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC),
		Include: []string{"src/**"}, Exclude: []string{"vendor/**", "**/*.min.js"}, FileMemories: "auto",
	}
}

func TestProjectRoundTrip(t *testing.T) {
	for _, p := range []conf.Project{project(), {ID: "proj_1234", Slug: "a", Name: "a"}} {
		got, notices, err := conf.ParseProject(conf.EncodeProject(p))
		if err != nil || len(notices) > 0 {
			t.Fatalf("ParseProject(%s) = %v, %v", conf.EncodeProject(p), notices, err)
		}
		if len(got.Exclude) == 0 {
			got.Exclude = nil
		}
		if !reflect.DeepEqual(got, p) {
			t.Errorf("ParseProject(EncodeProject(p)) = %+v, want %+v", got, p)
		}
	}
}

const named = "[project]\nid = \"proj_1234\"\nslug = \"a\"\n"

func TestProjectFileHasNoSay(t *testing.T) {
	for _, tc := range []struct {
		text string
		line int
		want string
	}{
		{"[embedding]\nprovider = \"openai\"\nurl = \"http://evil\"\n", 5, "foldwatch model use"},
		{"[llm]\nmodel = \"x\"\n", 5, "foldwatch provider allow"},
		{"[providers.x]\nurl = \"http://evil\"\n", 5, "foldwatch provider allow"},
		{"[sync]\nremote = \"http://evil\"\n", 5, "foldwatch sync on"},
		{"[hooks]\nrun = \"rm\"\n", 5, "no effect"},
		{"[indexing]\nlisten = \"0.0.0.0\"\n", 5, `"indexing.listen" has no effect`},
		{"[indexing]\ninclude = [\"../**\"]\n", 5, "leads out of the checkout"},
		{"[indexing]\ninclude = [\"a\", \"/etc/**\"]\n", 5, "not relative"},
		{"[indexing]\nexclude = [\"C:/x\"]\n", 5, "not relative"},
		{"[indexing]\nexclude = [\"a\\\\..\\\\b\"]\n", 5, "not relative"},
		{"[indexing]\nexclude = [\"" + strings.Repeat("**/", 30) + "\"]\n", 5, "not a usable pattern"},
		{"[indexing]\nfile_memories = \"all\"\n", 5, "not one of"},
		{"[indexing]\ninclude = 7\n", 5, "not a list"},
	} {
		p, notices, err := conf.ParseProject([]byte(named + tc.text))
		if err != nil || len(notices) != 1 || notices[0].Line != tc.line && notices[0].Line != tc.line-1 || !strings.Contains(notices[0].Text, tc.want) {
			t.Errorf("ParseProject(%q) = %v, %v; want %q at line %d", tc.text, notices, err, tc.want, tc.line)
		}
		for _, g := range append(p.Include, p.Exclude...) {
			if strings.Contains(g, "..") || strings.HasPrefix(g, "/") {
				t.Errorf("ParseProject(%q) kept %q", tc.text, g)
			}
		}
	}
}

func TestParseProjectRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "[project]\n", "[project]\nid = \"proj_1234\"\n", "[project]\nslug = \"a\"\n", "[project]\nid = \"proj_1234\"\nslug = \"../a\"\n", "[project]\nid = \"x y\"\nslug = \"a\"\n", named + "created_at = \"yesterday\"\n", named + "name = 7\n", named + strings.Repeat("#\n", 40_000)} {
		if p, _, err := conf.ParseProject([]byte(text)); err == nil {
			t.Errorf("ParseProject(%.60q) = %+v, want an error", text, p)
		}
	}
}

func TestMergeProject(t *testing.T) {
	old, young := project(), project()
	young.ID, young.Slug, young.Name = "proj_9999", "fork", "Fork"
	young.CreatedAt = old.CreatedAt.Add(time.Hour)
	young.Exclude = []string{"dist/**", "vendor/**"}
	a, b := conf.MergeProject(old, young), conf.MergeProject(young, old)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the merge depends on the side: %+v, %+v", a, b)
	}
	if a.ID != old.ID || a.Slug != "my-app" || !reflect.DeepEqual(a.Exclude, []string{"**/*.min.js", "dist/**", "vendor/**"}) {
		t.Errorf("MergeProject = %+v", a)
	}
	undated := young
	undated.CreatedAt = time.Time{}
	if got := conf.MergeProject(undated, young); got.CreatedAt.IsZero() {
		t.Errorf("one without a time won: %+v", got)
	}
	same := old
	same.ID, same.Slug = "proj_0001", "z"
	if a, b := conf.MergeProject(old, same), conf.MergeProject(same, old); a.ID != "proj_0001" || a.ID != b.ID || a.Slug != b.Slug {
		t.Errorf("at one time: %+v, %+v", a, b)
	}
}

func TestSetKey(t *testing.T) {
	for _, tc := range []struct {
		in    string
		path  string
		value any
		want  string
	}{
		{"", "listen", "x", "listen = \"x\"\n"},
		{"# c\nlisten = \"a\" # why\n", "listen", "b", "# c\nlisten = \"b\" # why\n"},
		{"[chunk]\nmin_lines = 5\n", "listen", "b", "listen = \"b\"\n[chunk]\nmin_lines = 5\n"},
		{"a.b = 1\n", "chunk.enabled", true, "a.b = 1\n\n[chunk]\nenabled = true\n"},
		{"[chunk] # c\n  min_lines = 5\n\n[sync]\n", "chunk.max_lines", 100, "[chunk] # c\n  min_lines = 5\nmax_lines = 100\n\n[sync]\n"},
		{"[projects.app]\nproviders = [\n  \"a\", # ]\n  'b]',\n] # end\nevolve = \"off\"", "projects.app.providers", []string{"c"}, "[projects.app]\nproviders = [\"c\"] # end\nevolve = \"off\""},
		{"[projects.app]\nevolve = \"off\"", "projects.app.providers", []string{}, "[projects.app]\nevolve = \"off\"\nproviders = []"},
		{"[projects.app]\nevolve = \"off\" # x\nfusion = \"rrf\"\n", "projects.app.evolve", nil, "[projects.app]\nfusion = \"rrf\"\n"},
		{"chunk = {enabled = true}\n", "listen", "x", "chunk = {enabled = true}\nlisten = \"x\"\n"},
		{"a = \"\"\"\n[x]\n\"\"\"\nb = 1\r\n", "b", 1.5, "a = \"\"\"\n[x]\n\"\"\"\nb = 1.5\r\n"},
		{"a = \"\"\"\n[x]\n\"\"\"\n# of y\n[y]\n", "b", 1, "a = \"\"\"\n[x]\n\"\"\"\nb = 1\n# of y\n[y]\n"},
	} {
		got, err := conf.SetKey([]byte(tc.in), strings.Split(tc.path, "."), tc.value)
		if err != nil || string(got) != tc.want {
			t.Errorf("SetKey(%q, %s) = %q, %v, want %q", tc.in, tc.path, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ in, path string }{{"x = ", "a"}, {"chunk = {enabled = true}\n", "chunk.min_lines"}, {"", ""}} {
		if got, err := conf.SetKey([]byte(tc.in), strings.Split(tc.path, "."), 1); err == nil {
			t.Errorf("SetKey(%q, %s) = %q, want an error", tc.in, tc.path, got)
		}
	}
}
