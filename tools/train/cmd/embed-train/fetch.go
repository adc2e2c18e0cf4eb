package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// maxUnpacked is the most bytes of one package that are unpacked.
const maxUnpacked = 1 << 30

// fetch makes sure that the source lies on this machine, byte for byte what the
// list says, and sets its folder. Go modules go to the module cache, packages of
// npm below cache.
func (s *source) fetch(ctx context.Context, cache string) error {
	var err error
	switch s.kind {
	case "go":
		err = s.fetchModule(ctx, cache)
	default:
		err = s.fetchPackage(ctx, cache)
	}
	if err != nil {
		return fmt.Errorf("fetch %s %s: %w", s.name, s.version, err)
	}
	return nil
}

func (s *source) fetchModule(ctx context.Context, cache string) error {
	// Outside of every module, so that no go.mod is asked or changed.
	out, err := command(ctx, cache, "go", "mod", "download", "-json", s.name+"@"+s.version)
	var m struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal([]byte(out), &m); jsonErr != nil {
		return errors.Join(err, jsonErr)
	}
	switch {
	case m.Error != "":
		return errors.New(m.Error)
	case err != nil:
		return err
	case m.Sum != s.sum:
		return fmt.Errorf("its sum is %s, want %s", m.Sum, s.sum)
	}
	s.dir = m.Dir
	if s.name == toolchain {
		s.dir = filepath.Join(m.Dir, "src")
	}
	return nil
}

func (s *source) fetchPackage(ctx context.Context, cache string) error {
	name := strings.NewReplacer("@", "", "/", "-").Replace(s.name) + "-" + s.version
	archive := filepath.Join(cache, name+".tgz")
	b, err := os.ReadFile(archive)
	if errors.Is(err, os.ErrNotExist) {
		if _, err = command(ctx, cache, "npm", "pack", "--silent", s.name+"@"+s.version); err != nil {
			return err
		}
		b, err = os.ReadFile(archive)
	}
	if err != nil {
		return err
	}
	sum := sha512.Sum512(b)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != s.sum {
		return fmt.Errorf("its sum is %s, want %s", got, s.sum)
	}
	s.dir = filepath.Join(cache, name)
	if _, err := os.Stat(s.dir); err == nil {
		return nil
	}
	part := s.dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := unpack(b, part); err != nil {
		return err
	}
	return os.Rename(part, s.dir)
}

// unpack writes the regular files of a package below dir, without the first part
// of their paths.
func unpack(archive []byte, dir string) error {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	root, err := mkRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // its files are closed one by one
	left := int64(maxUnpacked)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, p, ok := strings.Cut(h.Name, "/")
		if h.Typeflag != tar.TypeReg || !ok || !filepath.IsLocal(p) {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("more than %d bytes", maxUnpacked)
		}
		if err := root.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := root.WriteFile(p, b, 0o644); err != nil {
			return err
		}
	}
}

func mkRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// command runs a program in dir and returns what it prints.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), err
}
