package conf_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/conf"
)

const block = "[mcp_servers.foldwatch]\ncommand = \"foldwatch\"\nargs = [\"mcp\"]\n"

func TestSetBlock(t *testing.T) {
	for _, in := range []string{"", "\n", "a = 1", "a = 1\n", "a = 1\r\n", "a = 1\r\nb = 2", "# c\n\n\n", "[x]\ny = 1\n\n", "\xef\xbb\xbfa = 1\n", "\xef\xbb\xbf"} {
		set, err := conf.SetBlock([]byte(in), block)
		if err != nil {
			t.Fatalf("SetBlock(%q) = %v", in, err)
		}
		if got, ok, err := conf.TOMLMarkers().Get(set); err != nil || !ok || got != block {
			t.Errorf("the block of %q is %q, %v, %v", set, got, ok, err)
		}
		again, err := conf.SetBlock(set, block)
		if err != nil || !bytes.Equal(again, set) {
			t.Errorf("setting twice: %q, %v, after %q", again, err, set)
		}
		other, err := conf.SetBlock(set, "[other]\n")
		if err != nil || !strings.Contains(string(other), "[other]") || strings.Contains(string(other), "mcp_servers") {
			t.Errorf("another block: %q, %v", other, err)
		}
		for _, with := range [][]byte{set, other} {
			if got, err := conf.RemoveBlock(with); err != nil || string(got) != in {
				t.Errorf("set then remove of %q = %q, %v, after %q", in, got, err, with)
			}
		}
	}
}

func TestSetBlockRefuses(t *testing.T) {
	for _, in := range []string{"a = ", "[mcp_servers.foldwatch]\ncommand = \"x\"\n", "# BEGIN foldwatch v1\n", "# END foldwatch\n", "# BEGIN foldwatch v1\n# BEGIN foldwatch v1\n# END foldwatch\n"} {
		if got, err := conf.SetBlock([]byte(in), block); err == nil {
			t.Errorf("SetBlock(%q) = %q, want an error", in, got)
		}
	}
}

func TestBlockKeepsWhatFollows(t *testing.T) {
	set, err := conf.SetBlock([]byte("a = 1\n"), block)
	if err != nil {
		t.Fatal(err)
	}
	got, err := conf.RemoveBlock(append(set, "\n[later]\nb = 2\n"...))
	if want := "a = 1\n\n[later]\nb = 2\n"; err != nil || string(got) != want {
		t.Errorf("RemoveBlock = %q, %v, want %q", got, err, want)
	}
}

func FuzzFence(f *testing.F) {
	f.Add([]byte("a\r\nb"), "x\n")
	f.Add([]byte("\n\n"), "")
	f.Fuzz(func(t *testing.T, in []byte, text string) {
		fence := conf.MarkdownMarkers()
		if bytes.Contains(in, []byte("foldwatch")) || strings.Contains(text, "foldwatch") {
			return
		}
		set, err := fence.Set(in, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fence.Remove(set); err != nil || !bytes.Equal(got, in) {
			t.Errorf("set then remove of %q = %q, %v, after %q", in, got, err, set)
		}
	})
}
