package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// zipped is gzip without name and time.
func zipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// archive makes a tar.gz of the static program and what is beside it, for
// systems without a package manager of ours.
func (r *release) archive(p program, b beside) error {
	bin, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	files := maps.Clone(b.files)
	files["usr/bin/foldwatch"] = bin
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{
			Name: path.Join("foldwatch-"+r.version, name[len("usr/"):]), Mode: 0o644, Size: int64(len(files[name])), ModTime: r.date,
			Uname: "root", Gname: "root", Format: tar.FormatPAX,
		}
		if name == "usr/bin/foldwatch" {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(files[name]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return writeGzip(r.name(p.os, p.arch+".tar.gz"), buf.Bytes())
}

// source makes the archive that others build from: what git has, and no more.
// How it is written does not depend on how whoever makes it has set up git.
func (r *release) source(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "git", "-C", r.tree, "-c", "tar.umask=0022", "-c", "core.autocrlf=false", "-c", "core.eol=lf",
		"-c", "core.attributesFile="+os.DevNull, "archive", "--format=tar", "--prefix=foldwatch-"+r.version+"/", "HEAD")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git archive: %w", err)
	}
	return writeGzip(filepath.Join(r.out, "foldwatch-"+r.version+".tar.gz"), out)
}

// writeGzip compresses as fast as it can: programs hardly become smaller.
func writeGzip(path string, text []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := gzip.NewWriter(f)
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

// writeZip makes a zip whose files have one time and come in one order.
func writeZip(path string, files map[string][]byte, at time.Time) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := zip.NewWriter(f)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		h.SetMode(0o755)
		part, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := io.Copy(part, bytes.NewReader(files[name])); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
