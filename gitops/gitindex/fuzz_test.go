package gitindex_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
)

// FuzzPatch gives any bytes as an index, with the sum they need. What is parsed is
// written back as it was, and an edit changes one entry.
func FuzzPatch(f *testing.F) {
	oid := bytes.Repeat([]byte{1}, sha1.Size)
	empty, err := gitindex.Parse(nil, sha1.Size)
	if err != nil {
		f.Fatal(err)
	}
	whole, _ := empty.Patch([]gitindex.Edit{
		{Path: "a.txt", Now: oid, Mode: 0o100644}, {Path: "fold/a/m.md", Now: oid, Mode: 0o100755}, {Path: "fold/b.md", Now: oid, Mode: 0o120000},
	}, nil)
	body := whole[:len(whole)-sha1.Size]
	tree := "\x003 1\n" + string(oid) + "fold\x002 1\n" + string(oid) + "a\x00-1 0\n"
	untracked := "\x03me\x00" + string(make([]byte, 2*36+4+2*sha1.Size)) + ".gitignore\x00\x01\x00\x00\x00"
	for _, exts := range []string{
		"", ext("TREE", tree), ext("TREE", tree) + ext("REUC", "x") + ext("EOIE", "y"), ext("UNTR", untracked),
		ext("FSMN", "z") + ext("IEOT", ""), ext("ABCD", "unknown"), ext("link", ""),
	} {
		f.Add(append(bytes.Clone(body), exts...), "fold/a/new.md")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		sum := sha1.Sum(body)
		b := append(bytes.Clone(body), sum[:]...)
		file, err := gitindex.Parse(b, sha1.Size)
		if err != nil {
			if !errors.Is(err, gitindex.ErrOdd) {
				t.Fatalf("Parse = %v", err)
			}
			return
		}
		oid := bytes.Repeat([]byte{7}, sha1.Size)
		edits := []gitindex.Edit{{Path: path, Now: oid, Mode: 0o100644}}
		if len(file.Entries) > 0 {
			e := file.Entries[len(path)%len(file.Entries)]
			if string(e.Path) != path {
				edits = append(edits, gitindex.Edit{Path: string(e.Path), Was: e.Oid})
			}
		}
		if bytes.IndexByte([]byte(path), 0) >= 0 {
			return // no path of a file system
		}
		out, left := file.Patch(edits, nil)
		again, err := gitindex.Parse(out, sha1.Size)
		if err != nil {
			t.Fatalf("Parse of what Patch wrote = %v", err)
		}
		want := len(file.Entries)
		for _, e := range edits {
			applied := true
			for _, l := range left {
				applied = applied && l != e.Path
			}
			switch {
			case applied && e.Now == nil:
				want--
			case applied:
				want++
			}
		}
		if len(again.Entries) != want {
			t.Fatalf("%d entries, want %d", len(again.Entries), want)
		}
	})
}

// ext is an extension of an index as it stands in the file.
func ext(name, data string) string {
	return name + string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + data
}
