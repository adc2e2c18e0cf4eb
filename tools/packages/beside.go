package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// beside is what packages have beside the program: paths as on the system,
// without the first slash.
type beside struct {
	files   map[string][]byte
	service row
}

// A row is the service as Windows has it; see foldwatch assets.
type row struct {
	Name, Description, Arguments, Account string
	Environment                           []struct{ Name, Value string }
}

// beside asks the program for what belongs to it, and adds what is about it.
func (r *release) beside(ctx context.Context, host *program, mods []module) (beside, error) {
	b := beside{files: map[string][]byte{}}
	dir := filepath.Join(r.work, "assets")
	cmd := exec.CommandContext(ctx, host.path, "assets", dir, "--date", r.date.Format("2006-01-02"))
	cmd.Env = append(os.Environ(), "FOLDWATCH_HOME="+filepath.Join(r.work, "home"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return b, fmt.Errorf("foldwatch assets: %w\n%s", err, out)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case rel == "windows/service.json":
			return json.Unmarshal(text, &b.service)
		case strings.HasPrefix(rel, "usr/share/man/"):
			text, err = zipped(text)
			rel += ".gz"
		}
		b.files[rel] = text
		return err
	})
	if err != nil {
		return b, err
	}
	licence, err := os.ReadFile(filepath.Join(r.tree, "LICENSE"))
	if err != nil {
		return b, err
	}
	readme, err := os.ReadFile(filepath.Join(r.tree, "README.md"))
	if err != nil {
		return b, err
	}
	texts, err := zipped(licences(mods))
	if err != nil {
		return b, err
	}
	b.files["usr/share/doc/foldwatch/copyright"] = r.copyright(mods)
	b.files["usr/share/doc/foldwatch/LICENSE"] = licence
	b.files["usr/share/doc/foldwatch/LICENSES.gz"] = texts
	b.files["usr/share/doc/foldwatch/README.md"] = readme
	return b, nil
}

// fill puts v into a template of the tree.
func (r *release) fill(path string, v any) ([]byte, error) {
	t, err := parse(filepath.Join(r.tree, filepath.FromSlash(path)))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
