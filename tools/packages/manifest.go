package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// A file of the release, as manifests name it.
type file struct{ Name, SHA256 string }

// UpperSHA256 is how winget writes it.
func (f file) UpperSHA256() string { return strings.ToUpper(f.SHA256) }

// manifest is what the manifests' templates are filled with.
type manifest struct {
	Version, Commit, Date, Release, ProductCode string
	Source, Zip, MSI                            file
}

func parse(path string) (*template.Template, error) { return template.ParseFiles(path) }

// manifests writes those of package managers, which name files of this release
// by address and digest. One that names what was not made is left out.
func (r *release) manifests() error {
	m := manifest{
		Version: r.version, Commit: r.commit, Date: r.date.Format("2006-01-02"), ProductCode: r.productCode(),
		Release: homepage + "/releases/download/v" + r.version,
	}
	for into, name := range map[*file]string{
		&m.Source: "foldwatch-" + r.version + ".tar.gz", &m.Zip: "foldwatch-" + r.version + "-windows-amd64.zip", &m.MSI: "foldwatch-" + r.version + "-windows-amd64.msi",
	} {
		sum, err := digest(filepath.Join(r.out, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		*into = file{name, sum}
	}
	for dir, needed := range map[string]file{"homebrew": m.Source, "scoop": m.Zip, "winget": m.MSI} {
		if needed.Name == "" {
			continue
		}
		all, err := filepath.Glob(filepath.Join(r.tree, "packaging", dir, "*"))
		if err != nil {
			return err
		}
		for _, path := range all {
			text, err := r.fill("packaging/"+dir+"/"+filepath.Base(path), m)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Join(r.out, dir), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(r.out, dir, filepath.Base(path)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func digest(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// sums writes SHA256SUMS, which sha256sum -c reads.
func (r *release) sums() error {
	var b strings.Builder
	err := filepath.WalkDir(r.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		sum, err := digest(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(r.out, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}
