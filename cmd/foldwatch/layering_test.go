package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/foldwatch/foldwatch"

// levels says how high a package stands: it imports only packages of a lower
// level. A package that is not here may not exist: whoever adds one decides
// where it stands.
func levels() map[string]int {
	return map[string]int{
		"meta/fold": 0, "meta/disk": 0, "meta/disk/powertest": 0, "meta/words": 0, "meta/secret": 0, "meta/conf": 0, "meta/tokens": 0, "meta/shown": 0, "meta/lru": 0, "meta/regex": 0, "vecindex/dot": 0,
		"meta/sqlite": 1, "meta/textindex": 1, "vecindex": 1,
		"chunker/source": 0, "chunker/syntax": 1, "chunker/worker": 1, "chunker": 2,
		"gitops/usergit": 1, "gitops/objdb": 1, "gitops/wal": 1, "gitops/transport": 2, "gitops/history": 2, "gitops/commits": 2, "gitops/upstream": 3, "gitops/gitsync": 3, "gitops": 4,
		"vecindex/token": 1, "vecindex/weights": 1,
		"daemon/watch": 1, "daemon/rank": 1, "daemon/clock": 1, "daemon/layer": 1, "daemon/limiter": 0, "daemon/rounds": 1, "daemon/storepool": 1, "daemon/notify": 1,
		"daemon/provider": 1, "packaging/unit": 1, "api/wire": 1, "api/sock": 1, "api/ui": 1,
		"meta/state": 2, "meta/cache": 2, "meta/index": 2, "daemon/work": 2, "daemon/events": 2,
		"vecindex/embed": 2, "vecindex/qdrant": 2, "daemon/llm": 2, "daemon/eval": 2, "api/webhook": 2,
		"daemon/ingest/progress": 0, "daemon/ingest/imports": 3, "daemon/ingest/describe": 4, "daemon/ingest/selection": 4, "daemon/ingest/cut": 5,
		"daemon/ingest/tip": 6, "daemon/ingest": 7,
		"daemon/evolve": 5, "daemon/remember": 5, "daemon/recall": 5,
		"daemon/port": 5, "api/auth": 5, "api/client": 5,
		"daemon/embedding": 5, "daemon/repos": 7, "daemon/checkout": 8, "daemon": 9, "api/mcp": 7, "api/agents": 7,
		"api": 10, "daemon/eval/corpus": 10,
		// What tests of several packages share; see testHelpers.
		"api/apitest": 2, "vecindex/embedtest": 1, "testdata/fulltest": 0, "testdata/walktest": 8, "testdata/nocasetest": -1, "gitops/gittest": -1,
		// Parts of the program.
		"cmd/foldwatch/terminal": 2, "cmd/foldwatch/help": 2, "cmd/foldwatch/local": 6, "cmd/foldwatch/doctor": 10,
		// Programs: nothing imports them.
		"cmd/foldwatch": 11, "testdata/rig": 11,
	}
}

// An owner is the package through which alone a library is used, and why.
type owner struct {
	library string // import path, and everything below it
	pkgs    []string
	why     string
}

func owners() []owner {
	return []owner{
		{"github.com/adrg/frontmatter", []string{"meta/fold"}, "foreign front matter is read within the caps of meta/fold"},
		{"github.com/goccy/go-yaml", []string{"meta/fold"}, "64 KB of YAML can take 6 GB: meta/fold scans it first"},
		{"gopkg.in/yaml.v2", []string{"meta/fold"}, "YAML has one door, with caps"},
		{"gopkg.in/yaml.v3", []string{"meta/fold"}, "YAML has one door, with caps"},
		{"github.com/gofrs/flock", []string{"meta/disk"}, "locks name their holder, which meta/disk writes"},
		{"github.com/zricethezav/gitleaks/v8", []string{"meta/secret"}, "it keeps globals; meta/secret guards them and never returns a value"},
		{"github.com/pelletier/go-toml/v2", []string{"meta/conf"}, "unknown keys are errors there, with the nearest known key"},
		{"github.com/tailscale/hujson", []string{"meta/conf"}, "edits of JSONC keep every other byte"},
		{"modernc.org/sqlite", []string{"meta/sqlite"}, "one writer, readers apart, pragmas in one place"},
		{"database/sql", []string{"meta/sqlite", "meta/state", "meta/cache", "meta/index"}, "SQL stands where it runs"},
		{"github.com/blevesearch", []string{"meta/textindex"}, "it is opened in a guarded step and rebuilt when damaged"},
		{"go.etcd.io/bbolt", []string{"meta/textindex"}, "bleve keeps its snapshots in it, and waits for its lock for ever"},
		{"github.com/RoaringBitmap/roaring/v2", []string{"meta/textindex"}, "bleve hands out deleted documents in it"},
		{"github.com/viterin/vek", []string{"vecindex"}, "it falls back to pure Go there, checked"},
		{"github.com/coder/hnsw", []string{"vecindex"}, "it panics on delete and re-add: only behind the recall check"},
		{"github.com/tree-sitter", []string{"chunker/syntax"}, "it can end a process: only in the worker"},
		{"github.com/tree-sitter-grammars", []string{"chunker/syntax"}, "it can end a process: only in the worker"},
		{"github.com/yuin/goldmark", []string{"chunker"}, "markdown is cut there"},
		{"github.com/go-git", []string{"gitops", "gitops/commits", "gitops/gitsync", "gitops/history", "gitops/objdb", "gitops/transport"}, "it never syncs: its file system is wrapped there"},
		{"github.com/sergi/go-diff", []string{"gitops/history"}, "diffs of history are made there"},
		{"github.com/fsnotify/fsnotify", []string{"daemon/watch"}, "events are hints, settled into batches there"},
		{"github.com/qdrant/go-client", []string{"vecindex/qdrant"}, "gRPC stays out of everything else"},
		{"github.com/knights-analytics/hugot", []string{"vecindex/embed"}, "models are run there"},
		{"github.com/gomlx", []string{"vecindex/embed"}, "models are run there"},
		{"github.com/coreos/go-oidc/v3", []string{"api/auth"}, "who is calling is decided in one place"},
		{"golang.org/x/oauth2", []string{"api/auth"}, "who is calling is decided in one place"},
		{"github.com/modelcontextprotocol/go-sdk", []string{"api/mcp"}, "two revisions of the protocol are served at one address there"},
		{"github.com/danielgtaylor/huma/v2", []string{"api"}, "routes are declared there, and only there"},
		{"github.com/Microsoft/go-winio", []string{"api/sock"}, "the pipe's access list is set there"},
		{"github.com/spf13/cobra", []string{"cmd/foldwatch", "cmd/foldwatch/help"}, "flags are the program's business"},
		{"github.com/spf13/pflag", []string{"cmd/foldwatch", "cmd/foldwatch/help"}, "flags are the program's business"},
		{"github.com/charmbracelet", []string{"cmd/foldwatch", "cmd/foldwatch/terminal"}, "looks are the program's business"},
		{"charm.land", []string{"cmd/foldwatch"}, "looks are the program's business"},
		{"github.com/kardianos/service", []string{"packaging/unit"}, "it installs and controls services, with files of our own"},
		{"gopkg.in/natefinch/lumberjack.v2", []string{"cmd/foldwatch"}, "where logs go is wiring"},
		{"golang.org/x/term", []string{"cmd/foldwatch/terminal"}, "only the program talks to a terminal"},
	}
}

// A use is one import of one package.
type use struct {
	pkg  string // relative to the module, "" is its root
	file string
	path string // what is imported
	test bool
}

func TestLayering(t *testing.T) {
	t.Parallel()
	uses := importsBelow(t, "../..")
	if len(uses) < 20 {
		t.Fatalf("found %d imports: the walk does not see the tree", len(uses))
	}
	for _, fault := range checkLayering(uses, levels(), owners()) {
		t.Error(fault)
	}
}

// The checker itself must fail on what it is there to find.
func TestLayeringFindsSeededDefects(t *testing.T) {
	for _, tc := range []struct {
		name string
		use  use
		want string
	}{
		{"upward", use{pkg: "meta/sqlite", file: "meta/sqlite/x.go", path: modulePath + "/daemon"}, "imports daemon (level 9)"},
		{"sideways", use{pkg: "meta/sqlite", file: "meta/sqlite/x.go", path: modulePath + "/vecindex"}, "imports vecindex (level 1)"},
		{"child of same level", use{pkg: "vecindex", file: "vecindex/x.go", path: modulePath + "/vecindex/token"}, "imports vecindex/token (level 1)"},
		{"unknown importer", use{pkg: "daemon/core", file: "daemon/core/x.go", path: "fmt"}, "has no level"},
		{"unknown imported", use{pkg: "api", file: "api/x.go", path: modulePath + "/api/util"}, "has no level"},
		{"library by the wrong door", use{pkg: "daemon", file: "daemon/x.go", path: "modernc.org/sqlite/lib"}, "belongs to meta/sqlite: one writer"},
		{"library without owner", use{pkg: "daemon", file: "daemon/x.go", path: "github.com/some/thing"}, "no package owns"},
		{"program imported", use{pkg: "api", file: "api/x.go", path: modulePath + "/cmd/foldwatch"}, "imports cmd/foldwatch"},
		{"what learns tables imported", use{pkg: "daemon", file: "daemon/x.go", path: modulePath + "/tools/train/x"}, "imports tools/train/x, which has no level"},
		{"test helper in product code", use{pkg: "api", file: "api/x.go", path: modulePath + "/api/apitest"}, "which is for tests"},
		{"the bottom imports its neighbour", use{pkg: "meta/fold", file: "meta/fold/x.go", path: modulePath + "/meta/disk"}, "imports meta/disk (level 0)"},
		{"test uses a higher package's library", use{pkg: "meta/index", file: "meta/index/x_test.go", path: "github.com/spf13/cobra", test: true}, "belongs to cmd/foldwatch"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faults := checkLayering([]use{tc.use}, levels(), owners())
			if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tc.want) }) {
				t.Errorf("checkLayering(%+v) = %q, want one with %q", tc.use, faults, tc.want)
			}
		})
	}
	fine := []use{
		{pkg: "meta/sqlite", file: "meta/sqlite/x.go", path: modulePath + "/meta/fold"},
		{pkg: "meta/sqlite", file: "meta/sqlite/x.go", path: "modernc.org/sqlite"},
		{pkg: "daemon", file: "daemon/x.go", path: "golang.org/x/sync/errgroup"},
		{pkg: "cmd/foldwatch", file: "cmd/foldwatch/x.go", path: modulePath + "/api"},
	}
	if faults := checkLayering(fine, levels(), owners()); len(faults) > 0 {
		t.Errorf("checkLayering(allowed imports) = %q, want none", faults)
	}
}

// A database that may be deleted is a sqlite.Derived. Only the cache and the indexes
// have one, and the package of state.db touches no file but to look at it, so that
// no code that deletes a database can come to have state.db in hand.
func TestOnlyDerivedDatabasesAreDeleted(t *testing.T) {
	t.Parallel()
	used := map[string][]string{} // names of a package that are used, by the using package
	eachGoFile(t, "../..", 0, func(rel string, f *ast.File) {
		if strings.HasSuffix(rel, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "sqlite" || x.Name == "os") {
					used[path.Dir(rel)] = append(used[path.Dir(rel)], x.Name+"."+sel.Sel.Name)
				}
			}
			return true
		})
	})
	var derived []string
	for pkg, names := range used {
		if slices.Contains(names, "sqlite.Derived") {
			derived = append(derived, pkg)
		}
	}
	slices.Sort(derived)
	if want := []string{"meta/cache", "meta/index"}; !slices.Equal(derived, want) {
		t.Errorf("sqlite.Derived is used by %q, want %q alone", derived, want)
	}
	for _, name := range used["meta/state"] {
		if strings.HasPrefix(name, "os.") && name != "os.Stat" && name != "os.ErrNotExist" {
			t.Errorf("meta/state uses %s, which may change files", name)
		}
	}
	if !slices.Contains(used["meta/state"], "sqlite.Open") {
		t.Error("meta/state is not seen to open its file")
	}
}

// testHelpers reports whether only tests may import a package.
func testHelpers(pkg string) bool { return strings.HasSuffix(pkg, "test") }

// shared are the libraries that any package may use: the Go project's own, and
// what tests need.
func shared() []string {
	return []string{
		"golang.org/x/sync", "golang.org/x/sys", "golang.org/x/text",
		"github.com/bmatcuk/doublestar/v4",
		"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/zitadel/oidc/v3", "pgregory.net/rapid",
	}
}

// testOnly are those of shared that product code may not use.
func testOnly() []string {
	return []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/zitadel/oidc/v3", "pgregory.net/rapid"}
}

// checkLayering returns one sentence for each import that is not allowed.
func checkLayering(uses []use, levels map[string]int, owners []owner) []string {
	var faults []string
	fault := func(u use, format string, args ...any) {
		faults = append(faults, u.file+": "+fmt.Sprintf(format, args...))
	}
	for _, u := range uses {
		from, ok := levels[u.pkg]
		if !ok {
			fault(u, "package %s has no level; add it to levels and to ARCHITECTURE.md", u.pkg)
			continue
		}
		if rel, ok := strings.CutPrefix(u.path, modulePath+"/"); ok {
			to, known := levels[rel]
			switch {
			case rel == u.pkg: // an external test of the package itself
			case rel == "meta/fold" && from == 0:
				// Its neighbours at the bottom wrap its kinds of error; it
				// imports none of them.
			case testHelpers(rel) && !u.test:
				fault(u, "imports %s, which is for tests", rel)
			case !known:
				fault(u, "imports %s, which has no level", rel)
			case to >= from:
				fault(u, "%s (level %d) imports %s (level %d); imports point down: declare the interface you need, a higher level wires it", u.pkg, from, rel, to)
			}
			continue
		}
		if owned := slices.IndexFunc(owners, func(o owner) bool { return below(u.path, o.library) }); owned >= 0 {
			if o := owners[owned]; !slices.Contains(o.pkgs, u.pkg) && !testUse(u, o.library) {
				fault(u, "imports %s, which belongs to %s: %s", u.path, strings.Join(o.pkgs, ", "), o.why)
			}
			continue
		}
		if first, _, _ := strings.Cut(u.path, "/"); !strings.Contains(first, ".") {
			continue // standard library
		}
		switch {
		case !slices.ContainsFunc(shared(), func(s string) bool { return below(u.path, s) }):
			fault(u, "imports %s, a library that no package owns", u.path)
		case !u.test && u.pkg != "testdata/rig" && slices.ContainsFunc(testOnly(), func(s string) bool { return below(u.path, s) }):
			fault(u, "imports %s, which is for tests", u.path)
		}
	}
	return faults
}

// testUse allows a test to use a library that is another package's, where the
// test is about that very border.
func testUse(u use, library string) bool {
	if !u.test {
		return false
	}
	switch library {
	case "github.com/modelcontextprotocol/go-sdk": // a client, against the whole program
		return u.pkg == "cmd/foldwatch" || u.pkg == "api"
	case "database/sql", "modernc.org/sqlite": // reads what the program left
		return u.pkg == "cmd/foldwatch" || u.pkg == "daemon"
	case "github.com/adrg/frontmatter": // what a rebuild is measured against
		return u.pkg == "testdata/rig"
	case "github.com/go-git": // an independent reader of the sidecar
		return u.pkg == "cmd/foldwatch" || u.pkg == "daemon"
	}
	return false
}

func below(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// importsBelow parses every Go file under root, whatever its build tags. It
// does not ask `go list`: the test cache knows nothing of that command's
// inputs, and would call a new import passed. Reading the files makes them
// inputs of the test.
func importsBelow(t *testing.T, root string) []use {
	t.Helper()
	var uses []use
	eachGoFile(t, root, parser.ImportsOnly, func(rel string, f *ast.File) {
		for _, im := range f.Imports {
			p, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				t.Fatalf("%s: import %s: %v", rel, im.Path.Value, err)
			}
			uses = append(uses, use{pkg: path.Dir(rel), file: rel, path: p, test: strings.HasSuffix(rel, "_test.go")})
		}
	})
	return uses
}

// eachGoFile calls fn with every Go file of the module under root, and its
// path relative to root with forward slashes.
func eachGoFile(t *testing.T, root string, mode parser.Mode, fn func(rel string, f *ast.File)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && skipDir(p, rel, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" || !d.Type().IsRegular() {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, mode|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		fn(rel, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// skipDir reports whether a directory holds no code of this module: samples
// for tests, what was built, hidden folders, modules of their own.
func skipDir(p, rel, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || rel == "bin" || rel == "dist" || rel == "fold" {
		return true
	}
	if name == "testdata" && rel != "testdata" {
		return true
	}
	if strings.HasPrefix(rel, "testdata/") && !below(rel, "testdata/rig") {
		return true
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return err == nil
}
