package daemon_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// What says the same in other words is found where no word of the question
// occurs, and comes as what it is: near.
func TestSynonymsAreFound(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"a/insert.go": "package a\n\n// Insert puts a voucher at the end of the ledger.\nfunc Insert(ledger []string, voucher string) []string {\n\treturn append(ledger, voucher)\n}\n",
		"b/drop.go":   "package b\n\n// Remove takes a voucher out.\nfunc Remove(ledger []string, voucher string) []string {\n\treturn removed(ledger, voucher)\n}\n",
		"c/zoo.go":    "package c\n\n// Feed feeds the emu.\nfunc Feed() {}\n",
	})
	p.settle()
	reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "deleting", Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Results) == 0 || reply.Results[0].Metadata.FilePath != "b/drop.go" || reply.Notice == "" {
		t.Errorf("search = %+v, notice %q, want b/drop.go first, as near", reply.Results, reply.Notice)
	}
	// A word of the question counts more than a synonym.
	if got := p.search(wire.SearchRequest{Query: "delete emu", Limit: 3}); len(got) == 0 || got[0].Metadata.FilePath != "c/zoo.go" {
		t.Errorf("search = %+v, want c/zoo.go first", got)
	}
}
