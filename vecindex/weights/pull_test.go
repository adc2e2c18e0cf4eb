package weights_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/weights"
)

// A host keeps a model as the real one does: an index with checksums, small files
// by git, large ones behind a redirect.
type host struct {
	revision string
	files    map[string]string // what is sent
	indexed  map[string]string // what the index is made from
	redirect string            // where large files are, "" for here
	asked    []string
}

const revision = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked = append(h.asked, r.URL.String())
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/models/owner/tiny"):
		type object = map[string]any
		var list []object
		for name, text := range h.indexed {
			o := object{"rfilename": name, "size": len(text), "blobId": fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))}
			if strings.HasSuffix(name, ".onnx") {
				o["lfs"] = object{"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(text))), "size": len(text)}
			}
			list = append(list, o)
		}
		if err := json.NewEncoder(w).Encode(object{"sha": h.revision, "siblings": list}); err != nil {
			panic(err)
		}
	case strings.HasSuffix(r.URL.Path, ".onnx") && h.redirect != "":
		http.Redirect(w, r, h.redirect, http.StatusFound)
	case strings.HasPrefix(r.URL.Path, "/owner/tiny/resolve/"+h.revision+"/"):
		fmt.Fprint(w, h.files[strings.TrimPrefix(r.URL.Path, "/owner/tiny/resolve/"+h.revision+"/")])
	case r.URL.Path == "/large":
		fmt.Fprint(w, h.files["onnx/model.onnx"])
	default:
		http.NotFound(w, r)
	}
}

func newHost(t *testing.T) (*host, weights.PullOptions) {
	files := map[string]string{"tokenizer.json": "{}", "onnx/model.onnx": strings.Repeat("weights ", 5000), "README.md": "# Tiny", "extra.bin": "not asked for"}
	h := &host{revision: revision, files: files, indexed: files}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return h, weights.PullOptions{
		From: srv.URL, Dir: filepath.Join(t.TempDir(), "models"),
		Model: weights.Listed{Name: "tiny", Repo: "owner/tiny", Licence: "MIT", Files: []string{"tokenizer.json", "onnx/model.onnx"}, Optional: []string{"README.md", "absent.json"}},
	}
}

func TestPullChecksAndRecords(t *testing.T) {
	h, opt := newHost(t)
	h.redirect = "/large"
	var done, total int64
	opt.Progress = func(d, n int64) { done, total = d, n }
	rec, err := weights.Pull(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Files) != 3 || rec.Revision != revision || done != total || done < 40_000 {
		t.Errorf("record %+v, %d of %d bytes", rec, done, total)
	}
	dir := filepath.Join(opt.Dir, "tiny")
	if b, err := os.ReadFile(filepath.Join(dir, "onnx", "model.onnx")); err != nil || string(b) != h.files["onnx/model.onnx"] {
		t.Errorf("model: %d bytes, %v", len(b), err)
	}
	kept, err := weights.ReadRecord(dir)
	if err != nil || kept.Files["tokenizer.json"] != fmt.Sprintf("%x", sha256.Sum256([]byte("{}"))) {
		t.Errorf("record %+v, %v", kept, err)
	}
	// Again: by the recorded commit.
	h.asked = nil
	if _, err := weights.Pull(t.Context(), opt); err != nil || !strings.Contains(h.asked[0], "/revision/"+revision) {
		t.Errorf("again: %v, asked %q", err, h.asked)
	}
	// The host gives something else under the same commit, and a checksum that fits.
	changed := map[string]string{}
	maps.Copy(changed, h.files)
	changed["onnx/model.onnx"] = strings.Repeat("evil!!! ", 5000)
	h.files, h.indexed = changed, changed
	if _, err := weights.Pull(t.Context(), opt); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(fold.Hint(err), "--update") {
		t.Errorf("changed: %v, hint %q", err, fold.Hint(err))
	}
	if b, err := os.ReadFile(filepath.Join(dir, "onnx", "model.onnx")); err != nil || strings.HasPrefix(string(b), "evil") {
		t.Errorf("what was there was replaced: %v", err)
	}
	opt.Update = true
	if _, err := weights.Pull(t.Context(), opt); err != nil {
		t.Errorf("with --update: %v", err)
	}
	if left, err := os.ReadDir(opt.Dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPullRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind error
		want string
		set  func(h *host, opt *weights.PullOptions)
	}{
		{"other bytes", fold.ErrInvalid, "SHA-256", func(h *host, _ *weights.PullOptions) {
			h.files = map[string]string{"tokenizer.json": "{}", "onnx/model.onnx": strings.Repeat("WEIGHTS ", 5000)}
		}},
		{"another small file", fold.ErrInvalid, "git blob", func(h *host, _ *weights.PullOptions) {
			h.files = map[string]string{"tokenizer.json": "[]", "onnx/model.onnx": h.indexed["onnx/model.onnx"]}
		}},
		{"cut off", fold.ErrInvalid, "bytes it should have", func(h *host, _ *weights.PullOptions) {
			h.files = map[string]string{"tokenizer.json": "{", "onnx/model.onnx": "w"}
		}},
		{"endless", fold.ErrInvalid, "bytes it should have", func(h *host, _ *weights.PullOptions) {
			h.files = map[string]string{"tokenizer.json": strings.Repeat("{}", 1<<20)}
		}},
		{"another host", fold.ErrInvalid, "not followed", func(h *host, _ *weights.PullOptions) { h.redirect = "https://evil.example/model" }},
		{"a missing file", fold.ErrNotFound, "no tokenizer.json", func(h *host, _ *weights.PullOptions) {
			h.indexed = map[string]string{"onnx/model.onnx": "x"}
		}},
		{"no commit", fold.ErrInvalid, "index", func(h *host, _ *weights.PullOptions) { h.revision = "../../main" }},
		{"no such model", fold.ErrNotFound, "404", func(_ *host, opt *weights.PullOptions) { opt.Model.Repo = "owner/none" }},
		{"unencrypted", fold.ErrInvalid, "https", func(_ *host, opt *weights.PullOptions) { opt.From = "http://models.example" }},
		{"nobody there", fold.ErrUnavailable, "does not answer", func(_ *host, opt *weights.PullOptions) { opt.From = "http://127.0.0.1:1" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, opt := newHost(t)
			tc.set(h, &opt)
			if _, err := weights.Pull(t.Context(), opt); !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Pull = %v", err)
			}
			if left, err := os.ReadDir(opt.Dir); err == nil && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestList(t *testing.T) {
	m, ok := weights.Named("all-MiniLM-L6-v2")
	if !ok || m.Dim != 384 || m.Licence == "" || m.Bytes == 0 {
		t.Errorf("all-MiniLM-L6-v2: %+v", m)
	}
	if _, ok := weights.Named("none"); ok {
		t.Error("a model called none is listed")
	}
}
