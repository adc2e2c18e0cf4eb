package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoStoreKeepsACredentialOfASource shows that text quoted from a source with
// a credential in it is in no store of ours, the cache of chunks included.
func TestNoStoreKeepsACredentialOfASource(t *testing.T) {
	t.Parallel()
	token := "AKIA" + "Z7QK3MXW5VRT2PLH"
	p := newProject(t, map[string]string{
		"deploy.md":   "# Deploy\n\nLog in with aws_access_key_id = " + token + " and wait.\n\n## Then\n\nThe pelican flies.\n",
		"deploy.yaml": "# Deploys with aws_access_key_id = " + token + "\nname: pelican\n",
		"deploy.go":   "// Package deploy uses aws_access_key_id = " + token + " everywhere.\npackage deploy\n\n// Run logs in with aws_access_key_id = " + token + " first.\nfunc Run() {}\n",
	})
	p.eventually("all are found", func() bool { return p.found("pelican flies", "deploy.md") })
	p.settle()
	p.stop()
	for _, dir := range []string{p.home, p.file(".git/foldwatch"), p.file("fold")} {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			if strings.Contains(readFile(t, path), token) {
				t.Errorf("the credential is in %s", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
