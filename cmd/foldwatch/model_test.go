package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

func (f *fakeDaemon) ReloadModels(context.Context) (wire.EmbedderList, error) {
	f.called("reload models")
	return wire.EmbedderList{Items: []wire.ProjectEmbedder{{Slug: "my-app", Embedder: &wire.Embedder{Provider: "builtin", Model: "static", Next: "local/tiny"}}}}, nil
}

// tinyModel writes a model folder of three words.
func tinyModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	header := []byte(`{"embeddings":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]}}`)
	tensors := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for _, bits := range []uint32{0, 0, 0x3F800000, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000} {
		tensors = binary.LittleEndian.AppendUint32(tensors, bits)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"model.safetensors": tensors,
		"tokenizer.json":    []byte(`{"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"validate":1,"token":2,"file":3}}}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// userFile is what the user file of a trial holds.
func (tr *trial) userFile(t *testing.T) string {
	t.Helper()
	st, err := tr.app.config.Settings()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(st.Dirs.ConfigFile())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func TestModelUse(t *testing.T) {
	dir := tinyModel(t)
	broken := tinyModel(t)
	if err := os.WriteFile(filepath.Join(broken, "model.safetensors"), []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
		told string
		file string // what the user file then holds
	}{
		{"a folder", []string{"model", "use", dir}, 0, "vectors of local/tiny are being made", "[embedding]\nprovider = \"local\"\nmodel = \"" + dir + "\"\n"},
		{"for one project", []string{"-p", "my-app", "model", "use", dir}, 0, "chosen: local", "[projects.my-app.embedding]\nprovider = \"local\""},
		{"a provider", []string{"model", "use", "ollama/nomic-embed-text"}, 0, "chosen: ollama nomic-embed-text", "provider = \"ollama\"\nmodel = \"nomic-embed-text\""},
		{"the builtin one", []string{"model", "use", "builtin"}, 0, "chosen: builtin", "provider = \"builtin\"\n"},
		{"a broken folder", []string{"model", "use", broken}, 2, "safetensors", ""},
		{"a folder without a model", []string{"model", "use", t.TempDir()}, 4, "hint: a model folder holds", ""},
		{"one to be fetched", []string{"model", "use", "all-MiniLM-L6-v2"}, 4, "hint: foldwatch model pull all-MiniLM-L6-v2", ""},
		{"nothing", []string{"model", "use", "nothing"}, 4, "hint: foldwatch model list", ""},
		{"no embeddings", []string{"model", "use", "anthropic"}, 2, "has no embeddings", ""},
		{"unknown to pull", []string{"model", "pull", "nothing"}, 4, "hint: foldwatch model list", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := twoProjects()
			tr := newTrial(t, f, "/")
			if code := tr.run(tc.args...); code != tc.code {
				t.Errorf("exit code %d, want %d; stderr %s", code, tc.code, tr.err.String())
			}
			if told := tr.out.String() + tr.err.String(); !strings.Contains(told, tc.told) {
				t.Errorf("told %q, want %q in it", told, tc.told)
			}
			if got := tr.userFile(t); !strings.Contains(got, tc.file) || tc.file == "" && got != "" {
				t.Errorf("user file %q, want %q in it", got, tc.file)
			}
			if tc.code == 0 && len(f.asked) != 1 {
				t.Errorf("the daemon was asked %q", f.asked)
			}
		})
	}
}

func TestModelList(t *testing.T) {
	tr := newTrial(t, twoProjects(), "/")
	if code := tr.run("model", "list", "--json"); code != 0 {
		t.Fatalf("exit code %d: %s", code, tr.err.String())
	}
	var list struct{ Models []listedModel }
	if err := json.Unmarshal(tr.out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]listedModel{}
	for _, m := range list.Models {
		found[m.Name] = m
	}
	m := found["all-MiniLM-L6-v2"]
	if m.Bytes < 80e6 || m.Licence != "Apache-2.0" || m.MSPerText != 0 || m.Dim != 384 || m.State != "to be fetched" {
		t.Errorf("all-MiniLM-L6-v2: %+v", m)
	}
	if found["builtin"].MSPerText <= 0 {
		t.Errorf("builtin: %+v, want a measurement", found["builtin"])
	}
	if found["builtin"].State != "in use" || found["voyage/voyage-code-3"].Kind != "at api.voyageai.com" || found["ollama/all-minilm"].Kind != "at this machine" {
		t.Errorf("list: %+v", list.Models)
	}
}

func TestAllowAndDeny(t *testing.T) {
	f := twoProjects()
	tr := newTrial(t, f, "/")
	run := func(input string, want int, args ...string) string {
		t.Helper()
		tr.app.Stdin = strings.NewReader(input)
		tr.out.Reset()
		tr.err.Reset()
		if code := tr.run(args...); code != want {
			t.Fatalf("foldwatch %s: exit code %d, want %d: %s", strings.Join(args, " "), code, want, tr.err.String())
		}
		return tr.out.String() + tr.err.String()
	}
	told := run("n\n", 6, "-p", "my-app", "provider", "allow", "openai")
	for _, want := range []string{"api.openai.com would get from project my-app", "every indexed source file", "text of searches", "would not get: ignored files", "hint: foldwatch provider allow openai -p my-app --yes"} {
		if !strings.Contains(told, want) {
			t.Errorf("told %q, want %q in it", told, want)
		}
	}
	if tr.userFile(t) != "" || len(f.asked) != 0 {
		t.Errorf("refused, and yet %q, %q", tr.userFile(t), f.asked)
	}
	run("", 6, "-p", "my-app", "provider", "allow", "openai", "--no-input")
	run("y\n", 0, "-p", "my-app", "provider", "allow", "openai")
	run("", 0, "-p", "my-app", "provider", "allow", "gemini", "--yes")
	run("", 0, "-p", "other", "provider", "allow", "gemini", "--yes")
	if got := tr.userFile(t); !strings.Contains(got, "[projects.my-app]\nproviders = [\"openai\", \"gemini\"]") || !strings.Contains(got, "[projects.other]\nproviders = [\"gemini\"]") {
		t.Errorf("user file %q", got)
	}
	if told := run("", 0, "provider", "deny", "gemini"); !strings.Contains(told, "my-app, other") {
		t.Errorf("told %q", told)
	}
	if got := tr.userFile(t); strings.Contains(got, "gemini") || !strings.Contains(got, "[\"openai\"]") {
		t.Errorf("user file %q", got)
	}
	if told := run("", 0, "provider", "deny", "gemini"); !strings.Contains(told, "was not allowed anything") {
		t.Errorf("told %q", told)
	}
	if told := run("y\n", 0, "-p", "other", "provider", "allow", "ollama"); !strings.Contains(told, "runs on this machine") {
		t.Errorf("told %q", told)
	}
	run("", 4, "-p", "other", "provider", "allow", "nobody")
}

// Audit has three requests, and gives at most two at once.
func (f *fakeDaemon) Audit(_ context.Context, q wire.AuditQuery) (wire.AuditList, error) {
	f.called("audit %s %d %s", q.Project, q.Limit, q.Cursor)
	line := wire.AuditLine{At: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC), Project: "my-app", Host: "api.openai.com", Action: "openai: 32 texts", Bytes: 20480, Outcome: "200 OK"}
	switch {
	case q.Project == "other":
		return wire.AuditList{Items: []wire.AuditLine{}}, nil
	case q.Cursor == "":
		return wire.AuditList{Items: []wire.AuditLine{line, line}[:min(2, q.Limit)], NextCursor: "2"}, nil
	}
	return wire.AuditList{Items: []wire.AuditLine{line}}, nil
}

func TestAudit(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		lines int
		asked string
	}{
		{[]string{"provider", "log"}, 4, "[audit  50  audit  48 2]"},
		{[]string{"provider", "log", "--limit", "1"}, 2, "[audit  1 ]"},
		{[]string{"-p", "my-app", "provider", "log"}, 4, "[audit my-app 50  audit my-app 48 2]"},
		{[]string{"-p", "other", "provider", "log"}, 0, "[audit other 50 ]"},
	} {
		f := twoProjects()
		tr := newTrial(t, f, "/")
		if code := tr.run(tc.args...); code != 0 {
			t.Fatalf("foldwatch %q: exit code %d: %s", tc.args, code, tr.err.String())
		}
		if n := strings.Count(tr.out.String(), "\n"); n != tc.lines || fmt.Sprint(f.asked) != tc.asked {
			t.Errorf("foldwatch %q: %d lines, want %d; asked %q, want %q\n%s", tc.args, n, tc.lines, fmt.Sprint(f.asked), tc.asked, tr.out.String())
		}
		if tc.lines > 0 && !strings.Contains(tr.out.String(), "api.openai.com") || tc.lines == 0 && !strings.Contains(tr.err.String(), "nothing has left") {
			t.Errorf("foldwatch %q printed %q, %q", tc.args, tr.out.String(), tr.err.String())
		}
	}
	tr := newTrial(t, twoProjects(), "/")
	if code := tr.run("provider", "log", "--limit", "0"); code != 2 {
		t.Errorf("--limit 0: exit code %d", code)
	}
	tr.out.Reset()
	var list wire.AuditList
	if code := tr.run("provider", "log", "--json"); code != 0 || json.Unmarshal(tr.out.Bytes(), &list) != nil || len(list.Items) != 3 || list.Items[0].Bytes != 20480 {
		t.Errorf("--json: %d, %s", code, tr.out.String())
	}
}
