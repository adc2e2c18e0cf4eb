package conf

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A setting is one value of a TOML file, with where it stands.
type setting struct {
	path  []string
	value any // string, bool, int64, float64, []string; anything else as TOML has it
	file  string
	line  int // from 1; 0 if not known
}

func (s setting) where() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// readTOML returns every value of b, flattened, in the order of their lines.
func readTOML(file string, b []byte) ([]setting, error) {
	var tree map[string]any
	if err := toml.Unmarshal(b, &tree); err != nil {
		return nil, tomlError(file, err)
	}
	lines := keyLines(b)
	var out []setting
	flatten(tree, nil, func(path []string, v any) {
		out = append(out, setting{path: path, value: v, file: file, line: lines[strings.Join(path, "\x00")]})
	})
	slices.SortStableFunc(out, func(a, b setting) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return slices.Compare(a.path, b.path)
	})
	return out, nil
}

// tomlError turns a parser's error into one that names file and line.
func tomlError(file string, err error) error {
	if de, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := de.Position()
		return fmt.Errorf("%s:%d: %s: %w", file, row, strings.TrimPrefix(de.Error(), "toml: "), fold.ErrInvalid)
	}
	return fmt.Errorf("%s: %s: %w", file, strings.TrimPrefix(err.Error(), "toml: "), fold.ErrInvalid)
}

func flatten(tree map[string]any, at []string, emit func(path []string, v any)) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := append(slices.Clone(at), name)
		switch v := tree[name].(type) {
		case map[string]any:
			if len(v) == 0 {
				emit(path, nil)
			}
			flatten(v, path, emit)
		case []any:
			words := make([]string, 0, len(v))
			for _, e := range v {
				if s, ok := e.(string); ok {
					words = append(words, s)
				}
			}
			if len(words) == len(v) {
				emit(path, words)
			} else {
				emit(path, v)
			}
		default:
			emit(path, v)
		}
	}
}

// keyLines returns the line, from 1, of every key and table header of b. b is
// known to parse.
func keyLines(b []byte) map[string]int {
	lines := map[string]int{}
	note := func(path []string, offset int) {
		name := strings.Join(path, "\x00")
		if _, ok := lines[name]; !ok {
			lines[name] = 1 + bytes.Count(b[:offset], []byte{'\n'})
		}
	}
	eachExpression(b, func(e *unstable.Node, path []string, start, _ int) {
		note(path, start)
		if e.Kind == unstable.KeyValue {
			inlineTableLines(e, path, note)
		}
	})
	return lines
}

// inlineTableLines notes the keys of the inline table that e sets path to, if its
// value is one.
func inlineTableLines(e *unstable.Node, path []string, note func([]string, int)) {
	v := e.Value()
	if v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		if n := it.Node(); n.Kind == unstable.KeyValue {
			inner, start, _ := keyPath(n, path)
			note(inner, start)
			inlineTableLines(n, inner, note)
		}
	}
}

// eachExpression calls fn for every table header and every key of b, which is known
// to parse: with its whole path, and where its own key, dots and all, lies.
func eachExpression(b []byte, fn func(e *unstable.Node, path []string, start, end int)) {
	var table []string
	p := unstable.Parser{}
	p.Reset(b)
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			var start, end int
			table, start, end = keyPath(e, nil)
			fn(e, table, start, end)
		case unstable.KeyValue:
			path, start, end := keyPath(e, table)
			fn(e, path, start, end)
		}
	}
}

// keyPath returns the path of the key of e below table, and where the key lies.
func keyPath(e *unstable.Node, table []string) (path []string, start, end int) {
	path, start = slices.Clone(table), -1
	for it := e.Key(); it.Next(); {
		raw := it.Node().Raw
		if start < 0 {
			start = int(raw.Offset)
		}
		end = int(raw.Offset + raw.Length)
		path = append(path, string(it.Node().Data))
	}
	return path, start, end
}

// applyFile lays one value of the user file over c.
func (c *Config) applyFile(s setting, from map[string]string) error {
	name := strings.Join(s.path, ".")
	switch {
	case s.path[0] == "providers" && len(s.path) > 1:
		return c.applyProvider(s, from)
	case s.path[0] == "auth" && len(s.path) > 1 && s.path[1] == "providers":
		return c.applyAuthProvider(s, from)
	case s.path[0] == "projects":
		return c.applyProject(s, from)
	case s.value == nil: // an empty section
		for _, k := range keys() {
			if strings.HasPrefix(k.name, name+".") {
				return nil
			}
		}
	}
	k, ok := findKey(name)
	if !ok {
		if name == "providers" && s.value == nil {
			return nil
		}
		return unknownKey(s.where(), name)
	}
	if err := k.set(c, s.value); err != nil {
		return fmt.Errorf("%s: %s: %w", s.where(), name, err)
	}
	from[name] = s.where()
	return nil
}

func (c *Config) applyProvider(s setting, from map[string]string) error {
	name := s.path[1]
	p := c.Providers[name]
	if s.value == nil && len(s.path) == 2 {
		c.Providers[name] = p
		return nil
	}
	numbers := map[string]*int{"daily_texts": &p.DailyTexts, "daily_tokens": &p.DailyTokens}
	if n := numbers[strings.Join(s.path[2:], ".")]; n != nil {
		v, ok := s.value.(int64)
		if !ok || v < 0 || v > 1<<40 {
			return fmt.Errorf("%s: %s: %w", s.where(), strings.Join(s.path, "."), badType(s.value, "a whole number, 0 for no limit"))
		}
		*n = int(v)
	} else {
		fields := map[string]*string{
			"kind": &p.Kind, "url": &p.URL, "model": &p.Model, "key_env": &p.KeyEnv, "key_file": &p.KeyFile,
			"daily_texts": nil, "daily_tokens": nil,
		}
		if err := setField(s, 2, fields); err != nil {
			return err
		}
	}
	if kinds := []string{"gemini", "anthropic", "openai", "openrouter", "ollama", "voyage"}; p.Kind != "" && !slices.Contains(kinds, p.Kind) {
		return fmt.Errorf("%s: kind %q is not one of %s: %w", s.where(), p.Kind, strings.Join(kinds, ", "), fold.ErrInvalid)
	}
	c.Providers[name] = p
	from[strings.Join(s.path, ".")] = s.where()
	return nil
}

func (c *Config) applyAuthProvider(s setting, from map[string]string) error {
	if len(s.path) < 3 {
		if s.value == nil {
			return nil
		}
		return unknownKey(s.where(), strings.Join(s.path, "."))
	}
	name := s.path[2]
	p := c.Auth.Providers[name]
	key := strings.Join(s.path[3:], ".")
	words, several := s.value.([]string)
	on, truth := s.value.(bool)
	switch at := p.lists()[key]; {
	case at != nil && several:
		*at = words
	case key == "enabled" && truth:
		p.Disabled = !on
	case s.value != nil || len(s.path) != 3:
		fields := p.texts()
		fields["enabled"] = nil
		for name := range p.lists() {
			fields[name] = nil
		}
		if err := setField(s, 3, fields); err != nil {
			return err
		}
	}
	c.Auth.Providers[name] = p
	from[strings.Join(s.path, ".")] = s.where()
	return nil
}

// setField sets the text whose name is the n-th and last part of the path.
func setField(s setting, n int, fields map[string]*string) error {
	name := strings.Join(s.path[n:], ".")
	p, ok := fields[name]
	if !ok {
		return unknownAmong(s.where(), strings.Join(s.path, "."), prefixed(s.path[:n], slices.Sorted(maps.Keys(fields))))
	}
	text, ok := s.value.(string)
	if !ok || p == nil {
		return fmt.Errorf("%s: %s: %w", s.where(), strings.Join(s.path, "."), badType(s.value, "text in quotes"))
	}
	*p = text
	return nil
}

func prefixed(at, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.Join(at, ".") + "." + n
	}
	return out
}

// applyProject checks one value under [projects.<slug>] and keeps it for For.
func (c *Config) applyProject(s setting, from map[string]string) error {
	if len(s.path) < 2 || (len(s.path) == 2 && s.value != nil) {
		if s.value == nil {
			return nil
		}
		return unknownKey(s.where(), strings.Join(s.path, "."))
	}
	slug := s.path[1]
	if fold.Slug(slug) != slug {
		return fmt.Errorf("%s: %q is not a project slug: %w", s.where(), slug, fold.ErrInvalid)
	}
	if len(s.path) == 2 || (s.value == nil && len(s.path) == 3) {
		return nil
	}
	name := strings.Join(s.path[2:], ".")
	if name == "providers" {
		if words, ok := s.value.([]string); !ok {
			return fmt.Errorf("%s: %s: %w", s.where(), name, badType(s.value, "a list of names"))
		} else if slices.Contains(words, "") {
			return fmt.Errorf("%s: %s: an empty name: %w", s.where(), name, fold.ErrInvalid)
		}
	} else {
		names := []string{"providers"}
		for _, k := range keys() {
			if k.project {
				names = append(names, k.name)
			}
		}
		if !slices.Contains(names, name) {
			return unknownAmong(s.where(), strings.Join(s.path, "."), prefixed(s.path[:2], names))
		}
		k, _ := findKey(name)
		scratch := *c
		if err := k.set(&scratch, s.value); err != nil {
			return fmt.Errorf("%s: %s: %w", s.where(), name, err)
		}
	}
	c.projects[slug] = append(c.projects[slug], s)
	from[strings.Join(s.path, ".")] = s.where()
	return nil
}

// envName returns the variable of a key: chunk.min_lines → FOLDWATCH_CHUNK_MIN_LINES.
func envName(key string) string {
	return "FOLDWATCH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// notKeys are variables with our prefix that are not settings of the daemon.
func notKeys() []string {
	return []string{"FOLDWATCH_HOME", "FOLDWATCH_SOCKET", "FOLDWATCH_PROJECT", "FOLDWATCH_TOKEN", "FOLDWATCH_URL", "FOLDWATCH_SESSION", "FOLDWATCH_AGENT", "FOLDWATCH_EVAL"}
}

// applyEnv lays the FOLDWATCH_* variables over c, in the order of their names, and
// returns what is wrong with each.
func (c *Config) applyEnv(env []string, from map[string]string) (errs []error) {
	byEnv := map[string]key{}
	var names []string
	for _, k := range keys() {
		byEnv[envName(k.name)] = k
		names = append(names, envName(k.name))
	}
	for _, kv := range slices.Sorted(slices.Values(env)) {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" { // as good as unset: a shell has no other way to say so for one command
			continue
		}
		if !strings.HasPrefix(name, "FOLDWATCH_") || slices.Contains(notKeys(), name) || strings.HasPrefix(name, "FOLDWATCH_TEST_") {
			continue
		}
		k, ok := byEnv[name]
		if !ok {
			errs = append(errs, fold.WithHint(unknownAmong("environment", name, names), "unset "+name))
			continue
		}
		if err := k.set(c, value); err != nil {
			errs = append(errs, variableError(name, err))
			continue
		}
		from[k.name], c.fixed[k.name] = name, true
	}
	c.keepSecrets(env)
	return errs
}

// variableError is what is wrong with the value of a variable.
func variableError(name string, err error) error {
	return fold.WithHint(fmt.Errorf("environment: %s: %w", name, err), "set "+name+" to such a value, or unset it")
}

// foreignKeys are variables of other programs, and the keys that they are.
func foreignKeys() map[string]string {
	return map[string]string{
		"QDRANT_URL": "qdrant.url", "CHUNKING_ENABLED": "chunk.enabled", "CHUNK_MIN_LINES": "chunk.min_lines",
		"EMBEDDING_PROVIDER": "embedding.provider", "EMBEDDING_MODEL": "embedding.model", "EMBEDDING_DIMENSION": "embedding.dimension",
	}
}

// applyForeignEnv takes over what other programs of this kind export, and returns what is
// wrong with it. They are values only: a key enables nothing.
func (c *Config) applyForeignEnv(env []string, from map[string]string) (errs []error) {
	known := foreignKeys()
	for _, kv := range slices.Sorted(slices.Values(env)) {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(name, "AUTH_PROVIDER_"); ok {
			c.applyForeignAuth(name, rest, value, from)
			continue
		}
		dotted, ok := known[name]
		if !ok {
			continue
		}
		k, _ := findKey(dotted)
		if err := k.set(c, value); err != nil {
			errs = append(errs, variableError(name, err))
			continue
		}
		from[dotted] = name
	}
	return errs
}

// foreignAuthKeys are the ends of the variables AUTH_PROVIDER_<NAME>_…, and the keys
// they are.
func foreignAuthKeys() map[string]string {
	return map[string]string{
		"TYPE": "type", "DISPLAY_NAME": "name", "ISSUER": "issuer", "ISSUER_URL": "issuer", "CLIENT_ID": "client_id", "CLIENT_SECRET": "client_secret", "SECRET_FILE": "secret_file",
		"SCOPES": "scopes", "ENABLED": "enabled", "ROLE_CLAIM": "role_claim", "ADMIN": "admin", "MEMBER": "member", "VIEWER": "viewer", "PROJECTS": "projects",
	}
}

// applyForeignAuth reads one variable AUTH_PROVIDER_<NAME>_…. One that it does not
// know may be another program's.
func (c *Config) applyForeignAuth(variable, rest, value string, from map[string]string) {
	for suffix, key := range foreignAuthKeys() {
		name, ok := strings.CutSuffix(rest, "_"+suffix)
		if !ok || name == "" {
			continue
		}
		name = strings.ToLower(name)
		p := c.Auth.Providers[name]
		switch at := p.lists()[key]; {
		case at != nil:
			*at = strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' })
		case key == "enabled":
			on, err := strconv.ParseBool(value)
			p.Disabled = err != nil || !on
		case key == "client_secret":
			p.ClientSecret = value
		default:
			*p.texts()[key] = value
		}
		c.Auth.Providers[name] = p
		from["auth.providers."+name+"."+key] = variable
		return
	}
}

// keepSecrets keeps the values of the variables that some key names, so that
// nothing else need read the environment.
func (c *Config) keepSecrets(env []string) {
	want := c.secretNames()
	values := map[string]string{}
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); value != "" {
			values[name] = value
		}
	}
	for name := range want {
		if v := values[name]; v != "" {
			c.keys[name] = v
		}
	}
	// Google's own programs know the key by either name.
	if c.keys["GOOGLE_API_KEY"] == "" && values["GEMINI_API_KEY"] != "" {
		c.keys["GOOGLE_API_KEY"] = values["GEMINI_API_KEY"]
	}
	for name, p := range c.Auth.Providers {
		if v := c.keys[p.SecretEnv]; v != "" {
			p.ClientSecret = v
			c.Auth.Providers[name] = p
		}
	}
}

// Reads reports whether a daemon takes a setting or a key from the environment under
// this name.
func (c Config) Reads(name string) bool {
	if strings.HasPrefix(name, "FOLDWATCH_") {
		return !slices.Contains(notKeys(), name) && !strings.HasPrefix(name, "FOLDWATCH_TEST_")
	}
	_, seed := foreignKeys()[name]
	return seed || strings.HasPrefix(name, "AUTH_PROVIDER_") || name == "GEMINI_API_KEY" || c.secretNames()[name]
}

// secretNames are the variables that hold keys.
func (c *Config) secretNames() map[string]bool {
	want := map[string]bool{c.Qdrant.KeyEnv: true, c.Webhooks.SecretEnv: true}
	for _, name := range []string{"gemini", "anthropic", "openai", "openrouter", "voyage"} {
		p, _ := wellKnown(name)
		want[p.KeyEnv] = true
	}
	for _, p := range c.Providers {
		want[p.KeyEnv] = true
	}
	for _, p := range c.Auth.Providers {
		want[p.SecretEnv] = true
	}
	for slug := range c.projects {
		want[c.For(slug).Webhooks.SecretEnv] = true
	}
	delete(want, "")
	return want
}

// origins lists every key with its value.
func (c *Config) origins(from map[string]string) []Origin {
	var out []Origin
	for _, k := range keys() {
		o := Origin{Key: k.name, Value: k.text(c), From: "default"}
		if f, ok := from[k.name]; ok {
			o.From = f
		}
		out = append(out, o)
	}
	for name, f := range from {
		if _, ok := findKey(name); !ok {
			out = append(out, Origin{Key: name, Value: c.freeValue(name), From: f})
		}
	}
	slices.SortFunc(out, func(a, b Origin) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// freeValue returns the value of a key under a name of the user's own choice.
func (c *Config) freeValue(name string) string {
	if strings.HasSuffix(name, ".client_secret") {
		return "(set)"
	}
	for _, settings := range c.projects {
		for _, s := range settings {
			if strings.Join(s.path, ".") == name {
				return shown(s.value)
			}
		}
	}
	if rest, ok := strings.CutPrefix(name, "providers."); ok {
		for n, p := range c.Providers {
			if field, ok := strings.CutPrefix(rest, n+"."); ok {
				return map[string]string{
					"kind": p.Kind, "url": WithoutUser(p.URL), "model": p.Model, "key_env": p.KeyEnv, "key_file": p.KeyFile,
					"daily_texts": strconv.Itoa(p.DailyTexts), "daily_tokens": strconv.Itoa(p.DailyTokens),
				}[field]
			}
		}
	}
	if rest, ok := strings.CutPrefix(name, "auth.providers."); ok {
		for n, p := range c.Auth.Providers {
			if field, ok := strings.CutPrefix(rest, n+"."); ok {
				switch {
				case p.lists()[field] != nil:
					return strings.Join(*p.lists()[field], " ")
				case p.texts()[field] != nil:
					return *p.texts()[field]
				case field == "enabled":
					return strconv.FormatBool(!p.Disabled)
				}
			}
		}
	}
	return ""
}

func shown(v any) string {
	if words, ok := v.([]string); ok {
		return "[" + strings.Join(words, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// WithoutUser returns url without the user and password it may carry.
func WithoutUser(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, tail, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if tail != "" {
		host += "/" + tail
	}
	return scheme + "://" + host
}
