package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
)

func BenchmarkReadSource(b *testing.B) {
	dir := b.TempDir()
	deep := filepath.Join(dir, "src/main/java/org")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "A.java"), make([]byte, 8000), 0o644); err != nil {
		b.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	buf := make([]byte, 1<<14)
	for b.Loop() {
		if _, _, _, err := disk.ReadSource(root, "src/main/java/org/A.java", 1<<20, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	dir := b.TempDir()
	r, err := disk.OpenRoot(dir, disk.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var files []disk.File
	for i := range 2000 {
		files = append(files, disk.File{Path: fmt.Sprintf("%x/%x/%d.md", i%16, i/16%16, i), Data: []byte("x")})
	}
	if err := r.CreateMany(files); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	n := 0
	for b.Loop() {
		if err := r.Walk(func(string, disk.Info) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "files/s")
}
