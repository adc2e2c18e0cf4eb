package conf

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

func load(t *testing.T, text string, env []string, flags map[string]string) (Config, []Origin) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, origins, err := Load(path, env, flags)
	if err != nil {
		t.Fatalf("Load(%q) = %v", text, err)
	}
	return c, origins
}

func origin(origins []Origin, key string) Origin {
	i := slices.IndexFunc(origins, func(o Origin) bool { return o.Key == key })
	if i < 0 {
		return Origin{}
	}
	return origins[i]
}

func TestLoadPrecedence(t *testing.T) {
	const file = "strength_weight = 0.2\n[chunk]\nmin_lines = 7\n"
	env := []string{"FOLDWATCH_STRENGTH_WEIGHT=0.3", "CHUNK_MIN_LINES=9", "CHUNKING_ENABLED=false", "QDRANT_URL=http://localhost:6333", "PATH=/bin", "FOLDWATCH_HOME=/x"}
	c, origins := load(t, file, env, map[string]string{"strength_weight": "0.4"})
	if c.StrengthWeight != 0.4 || c.Chunk.MinLines != 7 || c.Chunk.Enabled || c.Qdrant.URL != "http://localhost:6333" || c.Sync.Poll != time.Minute {
		t.Errorf("Load() = %+v", c)
	}
	for key, from := range map[string]string{"strength_weight": "flag", "chunk.enabled": "CHUNKING_ENABLED", "sync.poll": "default", "qdrant.url": "QDRANT_URL"} {
		if o := origin(origins, key); o.From != from {
			t.Errorf("origin of %s = %+v, want %s", key, o, from)
		}
	}
	if o := origin(origins, "chunk.min_lines"); !strings.HasSuffix(o.From, "config.toml:3") || o.Value != "7" {
		t.Errorf("origin of chunk.min_lines = %+v", o)
	}
	c, origins = load(t, file, env, nil)
	if o := origin(origins, "strength_weight"); c.StrengthWeight != 0.3 || o.From != "FOLDWATCH_STRENGTH_WEIGHT" {
		t.Errorf("strength_weight = %v from %+v", c.StrengthWeight, o)
	}
}

func TestLoadWithoutAFileGivesTheDefaults(t *testing.T) {
	c, origins, err := Load(filepath.Join(t.TempDir(), "none.toml"), nil, nil)
	if err != nil || c.Describe != "default-branch" || c.MaxFileKB != 1024 || c.Fusion != "weighted" || c.Listen != "" || !c.AutoStart {
		t.Errorf("Load() = %+v, %v", c, err)
	}
	if len(origins) != len(keys()) || slices.ContainsFunc(origins, func(o Origin) bool { return o.From != "default" }) {
		t.Errorf("origins = %v", origins)
	}
	// A default is what its own check lets through.
	for _, k := range keys() {
		if text := k.text(&c); text != "" {
			if err := k.set(&c, text); err != nil {
				t.Errorf("the default of %s: %v", k.name, err)
			}
		}
	}
}

func TestEveryKeyIsReadFromFileAndEnvironment(t *testing.T) {
	def := Default()
	for _, k := range keys() {
		value, text := "", ""
		switch k.at(&def).(type) {
		case *string:
			if value = "7d"; k.words != nil {
				value = k.words[len(k.words)-1]
			}
			if k.weight {
				value = "0.5"
			}
			text = tomlText(value)
		case *bool:
			value, text = "true", "true"
		case *int:
			value, text = "20", "20"
		case *float64:
			value, text = "0.5", "0.5"
		case *time.Duration:
			value, text = "1m0s", `"1m"`
		case *[]string:
			value, text = "main", `["main"]`
		}
		if strings.HasPrefix(k.name, "auth.tls") {
			continue // they come in pairs
		}
		if c, origins := load(t, k.name+" = "+text+"\n", nil, nil); k.text(&c) != value {
			t.Errorf("%s from the file = %q, want %q; %+v", k.name, k.text(&c), value, origin(origins, k.name))
		}
		if c, origins := load(t, "", []string{envName(k.name) + "=" + strings.Trim(text, `["]`)}, nil); k.text(&c) != value || origin(origins, k.name).From != envName(k.name) {
			t.Errorf("%s = %q, want %q", envName(k.name), k.text(&c), value)
		}
	}
}

func TestEmptyVariablesCountAsUnset(t *testing.T) {
	empty := []string{"FOLDWATCH_AUTO_START=", "FOLDWATCH_STRENGTH_WEIGHT=", "FOLDWATCH_EVOLVE=", "FOLDWATCH_NO_SUCH_KEY="}
	c, origins := load(t, "strength_weight = 0.25\n", empty, nil)
	if c.StrengthWeight != 0.25 {
		t.Errorf("strength_weight = %v, want that of the file", c.StrengthWeight)
	}
	for _, o := range origins {
		if strings.HasPrefix(o.From, "FOLDWATCH_") {
			t.Errorf("%s comes from %s, which is empty", o.Key, o.From)
		}
	}
	// What no variable sets, a project may.
	c, _ = load(t, "[projects.app]\nevolve = \"auto\"\n", empty, nil)
	if got := c.For("app").Evolve; got != "auto" {
		t.Errorf("evolve of the project = %q, want auto", got)
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		file string
		env  string
		want string
	}{
		{file: "a = 1\nstrength_wieght = 1\n", want: `config.toml:1: unknown key "a"`},
		{file: "\n\nstrength_wieght = 1\n", want: `config.toml:3: unknown key "strength_wieght", did you mean "strength_weight"`},
		{file: "[chunks]\nmin_lines = 1\n", want: `did you mean "chunk.min_lines"`},
		{file: "[sync]\npoll = 60\n", want: `config.toml:2: sync.poll: "60" is not a duration`},
		{file: "listen = ", want: "config.toml:1: "},
		{file: "describe = \"branch\"\n", want: "not one of default-branch, worktree"},
		{file: "strength_weight = 2\n", want: "not between 0 and 1"},
		{file: "[projects.My_App]\nevolve = \"off\"\n", want: "not a project slug"},
		{file: "[projects.app]\nlisten = \"x\"\n", want: `unknown key "projects.app.listen"`},
		{file: "[projects.app]\nevolve = \"of\"\n", want: "config.toml:2: evolve:"},
		{file: "[providers.x]\nkey = \"sk\"\n", want: `did you mean "providers.x.key_env"`},
		{file: "[chunk]\nmin_lines = 300\n", want: "config.toml:2: chunk.min_lines 300 is above"},
		{file: "[projects.app]\nchunk.min_lines = 300\n", want: "config.toml:2: projects.app: chunk.min_lines 300 is above"},
		{file: "recall_half_life = \"soon\"\n", want: "recall_half_life"},
		{env: "FOLDWATCH_LISTN=x", want: `unknown key "FOLDWATCH_LISTN", did you mean "FOLDWATCH_LISTEN"`},
		{env: "FOLDWATCH_AUTO_START=maybe", want: "FOLDWATCH_AUTO_START"},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Load(path, []string{tc.env}, nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("Load(%q, %q) = %v, want %q", tc.file, tc.env, err, tc.want)
		}
	}
}

// TestSlipsAreAllTold: each thing that is wrong is told, with a hint that does not need
// the file to be right, and the rest is read all the same.
func TestSlipsAreAllTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const text = "auto_stat = false\nlog_level = \"debug\"\nstrength_weight = 7\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, origins, err := Load(path, []string{"FOLDWATCH_EVOLVE=maybe", "FOLDWATCH_SYNC_POLL=30s"}, nil)
	errs := ErrorList(err)
	if len(errs) != 3 {
		t.Fatalf("Slips = %v", errs)
	}
	for i, want := range []struct{ text, hint string }{
		{path + `:1: unknown key "auto_stat"`, "edit " + path}, {path + ":3: strength_weight: ", "edit " + path}, {"environment: FOLDWATCH_EVOLVE: ", "unset"},
	} {
		if !strings.HasPrefix(errs[i].Error(), want.text) || !strings.Contains(fold.Hint(errs[i]), want.hint) {
			t.Errorf("slip %d is %v (hint %q), want %q, %q", i, errs[i], fold.Hint(errs[i]), want.text, want.hint)
		}
	}
	if c.LogLevel != "debug" || c.Sync.Poll != 30*time.Second || c.StrengthWeight != 0.05 || origin(origins, "log_level").From != path+":2" {
		t.Errorf("what is right was not read: %q %s %g", c.LogLevel, c.Sync.Poll, c.StrengthWeight)
	}
	_, _, err = Load("", []string{"FOLDWATCH_CHUNK_MIN_LINES=300"}, nil)
	if want := "environment: FOLDWATCH_CHUNK_MIN_LINES: chunk.min_lines 300 is above"; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(fold.Hint(err), "unset") {
		t.Errorf("of two keys by a variable: %v (hint %q), want %q", err, fold.Hint(err), want)
	}
	if _, _, err := Load(filepath.Dir(path), nil, nil); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(fold.Hint(err), "a file that you can read") {
		t.Errorf("Load of a folder = %v (hint %q)", err, fold.Hint(err))
	}
}

// TestLoginsAreNotShown: what `config show` prints is read by others too.
func TestLoginsAreNotShown(t *testing.T) {
	_, origins, err := parse("config.toml", []byte("[providers.x]\nkind = \"openai\"\nurl = \"https://ada:pw@a.example/v1\"\n"),
		[]string{"FOLDWATCH_QDRANT_URL=https://ada:pw@q.example:6333"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"qdrant.url": "https://q.example:6333", "providers.x.url": "https://a.example/v1"} {
		if got := origin(origins, key).Value; got != want {
			t.Errorf("%s is shown as %q, want %q", key, got, want)
		}
	}
}

func TestProjectsOverride(t *testing.T) {
	const file = `evolve = "off"
[projects.app]
providers = ["gemini", "mine"]
evolve = "auto"
decay_half_life_days = 7
chunk.min_lines = 3
[projects.other]
touch_on_search = true
`
	c, origins := load(t, file, []string{"FOLDWATCH_DECAY_HALF_LIFE_DAYS=60"}, nil)
	app, other := c.For("app"), c.For("other")
	if app.Evolve != "auto" || app.Chunk.MinLines != 3 || app.DecayHalfLifeDays != 60 || !slices.Equal(app.Allowed, []string{"gemini", "mine"}) {
		t.Errorf("For(app) = %+v", app)
	}
	if other.Evolve != "off" || !other.TouchOnSearch || other.Allowed != nil || c.TouchOnSearch {
		t.Errorf("For(other) = %+v", other)
	}
	if !slices.Equal(c.ProjectSlugs(), []string{"app", "other"}) || !c.Sets("app", "evolve", origins) || c.Sets("app", "file_memories", origins) || !c.Sets("none", "evolve", origins) {
		t.Error("Sets or ProjectSlugs is wrong")
	}
	if o := origin(origins, "projects.app.providers"); o.Value != "[gemini, mine]" || !strings.HasSuffix(o.From, ":3") {
		t.Errorf("origin = %+v", o)
	}
}

func TestKeysAreValuesOnly(t *testing.T) {
	secret := "s3" + "cr3t"
	env := []string{"GEMINI_API_KEY=" + secret, "MY_KEY=" + secret, "AUTH_PROVIDER_CORP_ISSUER=https://id.example.com", "AUTH_PROVIDER_CORP_CLIENT_ID=fold", "AUTH_PROVIDER_CORP_CLIENT_SECRET=" + secret, "EMBEDDING_PROVIDER=gemini", "UNRELATED=" + secret}
	c, origins := load(t, "[providers.mine]\nkind = \"openai\"\nurl = \"http://u:"+secret+"@host:1/v1\"\nkey_env = \"MY_KEY\"\n", env, nil)
	if c.Allowed != nil || c.For("any").Allowed != nil {
		t.Error("a key alone enables a provider")
	}
	gemini, ok := c.Provider("gemini")
	if !ok || c.Key(gemini) != secret {
		t.Errorf("Provider(gemini) = %+v, %v", gemini, ok)
	}
	if mine, ok := c.Provider("mine"); !ok || c.Key(mine) != secret || mine.Kind != "openai" {
		t.Errorf("Provider(mine) = %+v, %v", mine, ok)
	}
	if _, ok := c.Provider("nobody"); ok {
		t.Error("Provider(nobody) is known")
	}
	if p := c.Auth.Providers["corp"]; p.Issuer != "https://id.example.com" || p.ClientSecret != secret {
		t.Errorf("auth provider = %+v", p)
	}
	if c.Key(Provider{KeyEnv: "UNRELATED"}) != "" {
		t.Error("a variable that no key names is kept")
	}
	for _, o := range origins {
		if strings.Contains(o.Value+o.From+o.Key, secret) {
			t.Errorf("an origin shows a secret: %s from %s", o.Key, o.From)
		}
	}
}

func TestHalfLife(t *testing.T) {
	for in, want := range map[string]time.Duration{"30": 720 * time.Hour, "1.5d": 36 * time.Hour, "24h": 24 * time.Hour} {
		if got, err := HalfLife(in); err != nil || got != want {
			t.Errorf("HalfLife(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "-1", "x", "1e99", "NaN", "3dd"} {
		if got, err := HalfLife(in); err == nil {
			t.Errorf("HalfLife(%q) = %v, want an error", in, got)
		}
	}
}

func TestLocate(t *testing.T) {
	sys := system{os: "linux", uid: 1000, temp: "/tmp", owned: func(dir string) bool { return dir == "/run/user/1000" }}
	none := func(string) bool { return false }
	long := "/" + strings.Repeat("x", 99)
	for _, tc := range []struct {
		name   string
		env    map[string]string
		change func(*system)
		want   Dirs
	}{
		{name: "plain", env: map[string]string{"HOME": "/h"}, want: Dirs{Config: "/h/.config/foldwatch", State: "/h/.local/state/foldwatch", Data: "/h/.local/share/foldwatch", Cache: "/h/.cache/foldwatch", Socket: "/run/user/1000/foldwatch/foldwatch.sock"}},
		{name: "xdg", env: map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "rel", "XDG_RUNTIME_DIR": "/r"}, want: Dirs{Config: "/c/foldwatch", State: "/h/.local/state/foldwatch", Data: "/h/.local/share/foldwatch", Cache: "/h/.cache/foldwatch", Socket: "/r/foldwatch/foldwatch.sock"}},
		{name: "no runtime folder", env: map[string]string{"HOME": "/h"}, change: func(s *system) { s.owned = none }, want: Dirs{Config: "/h/.config/foldwatch", State: "/h/.local/state/foldwatch", Data: "/h/.local/share/foldwatch", Cache: "/h/.cache/foldwatch", Socket: "/tmp/foldwatch-1000/foldwatch.sock"}},
		{name: "one folder", env: map[string]string{"FOLDWATCH_HOME": "/f/"}, want: Dirs{Home: "/f", Config: "/f/config", State: "/f/state", Data: "/f/data", Cache: "/f/cache", Socket: "/f/foldwatch.sock"}},
		{name: "long", env: map[string]string{"FOLDWATCH_HOME": long}, want: Dirs{Home: long, Config: long + "/config", State: long + "/state", Data: long + "/data", Cache: long + "/cache", Socket: "/tmp/foldwatch-1000/" + hash8(long+"/foldwatch.sock") + ".sock"}},
		{name: "macOS", env: map[string]string{"HOME": "/Users/u"}, change: func(s *system) { s.os, s.owned = "darwin", none }, want: Dirs{Config: "/Users/u/Library/Application Support/foldwatch", State: "/Users/u/Library/Application Support/foldwatch", Data: "/Users/u/Library/Application Support/foldwatch", Cache: "/Users/u/Library/Caches/foldwatch", Socket: "/tmp/foldwatch-1000/foldwatch.sock"}},
		{name: "very long temp", env: map[string]string{"FOLDWATCH_HOME": long}, change: func(s *system) { s.temp = long }, want: Dirs{Home: long, Config: long + "/config", State: long + "/state", Data: long + "/data", Cache: long + "/cache", Socket: "/tmp/foldwatch-1000/" + hash8(long+"/foldwatch.sock") + ".sock"}},
	} {
		if os.PathSeparator != '/' {
			t.Skip("paths of unix")
		}
		s := sys
		if tc.change != nil {
			tc.change(&s)
		}
		got, err := locate(func(name string) string { return tc.env[name] }, s)
		if err != nil || got != tc.want {
			t.Errorf("%s: Locate() =\n%+v, %v, want\n%+v", tc.name, got, err, tc.want)
		}
		if len(got.Socket) > maxSocketPath {
			t.Errorf("%s: the socket's path has %d bytes", tc.name, len(got.Socket))
		}
	}
	for _, env := range []map[string]string{{}, {"HOME": "rel"}, {"FOLDWATCH_HOME": "rel"}} {
		if d, err := locate(func(name string) string { return env[name] }, sys); err == nil {
			t.Errorf("Locate(%v) = %+v, want an error", env, d)
		}
	}
	win := system{os: "windows", uid: -1}
	d, err := locate(func(name string) string {
		return map[string]string{"APPDATA": `C:\r`, "LOCALAPPDATA": `C:\l`}[name]
	}, win)
	if err != nil || !strings.HasPrefix(d.Socket, `\\.\pipe\foldwatch-`) {
		t.Errorf("Locate on Windows = %+v, %v", d, err)
	}
}
