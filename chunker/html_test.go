package chunker

import (
	"os"
	"slices"
	"testing"
)

// Builds without parsers cut pages by their tags alone, and so do all builds
// where a page is too long for a parser.
func TestCutHTMLByTags(t *testing.T) {
	src, err := os.ReadFile("testdata/html/page.html")
	if err != nil {
		t.Fatal(err)
	}
	r := cutHTML("html", src, Options{}.withDefaults())
	var got []string
	at := 0
	for _, c := range r.Chunks {
		if c.StartByte != at {
			t.Errorf("a chunk starts at %d, the one before ends at %d", c.StartByte, at)
		}
		if at = c.EndByte; c.NodeName != "" {
			got = append(got, c.NodeType+" "+c.NodeName)
		}
	}
	if at != len(src) {
		t.Errorf("chunks end at %d of %d bytes", at, len(src))
	}
	want := []string{"nav menu", "main Terms", "section Orders", "article Cancelling", "article Delivery", "section Prices", "h2 Questions", "h2 Law"}
	if !slices.Equal(got, want) {
		t.Errorf("named are\n%q, want\n%q", got, want)
	}
	if want := []string{"css/site.css", "css/print.css", "js/menu.js"}; !slices.Equal(r.Imports, want) || r.Doc != "Terms & conditions" {
		t.Errorf("imports %q, doc %q, want %q of Terms & conditions", r.Imports, r.Doc, want)
	}
}

func TestComponentName(t *testing.T) {
	for path, want := range map[string]string{
		"ui/CartPanel.vue": "vue/CartPanel", "ui/index.vue": "vue/ui", `ui\Search.svelte`: "svelte/Search", "index.svelte": "svelte/index", "a/b.go": "go", "x": "",
	} {
		if got := Variant(path, nil); got != want {
			t.Errorf("Variant(%q) = %q, want %q", path, got, want)
		}
	}
}
