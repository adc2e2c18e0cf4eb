package api_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
)

const checkedIn = "openapi.json"

// TestDocumentIsCheckedIn holds the OpenAPI document in the tree to what is
// served, byte for byte; with -update it writes it.
func TestDocumentIsCheckedIn(t *testing.T) {
	w := ask(api.NewServer(apitest.New(), nil, api.Options{Version: "any"}), "GET", "/openapi.json", "")
	t.Helper()
	if *update {
		if err := os.WriteFile(checkedIn, w.Body.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(checkedIn)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.Body.Bytes(), want) {
		t.Errorf("api/%s is not what the routes give; run: make openapi", checkedIn)
	}
}
