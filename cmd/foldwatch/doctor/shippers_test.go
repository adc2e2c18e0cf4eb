package doctor

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestShippers: what would ship fold/, and what does not, file by file.
func TestShippers(t *testing.T) {
	for name, tc := range map[string]struct {
		files  map[string]string
		hidden bool
		want   string // files that ship it, joined
	}{
		"copies all":                    {files: map[string]string{"Dockerfile": "COPY . /app"}, hidden: true, want: "Dockerfile"},
		"copies all, in another case":   {files: map[string]string{"build.dockerfile": "  copy --chown=a ./ /app"}, want: "build.dockerfile"},
		"copies it by name":             {files: map[string]string{"Containerfile": "ADD [\"fold/\", \"/x\"]"}, want: "Containerfile"},
		"copies by a pattern":           {files: map[string]string{"Dockerfile.dev": "COPY a.go \\\n f* /x"}, want: "Dockerfile.dev"},
		"from a stage":                  {files: map[string]string{"Dockerfile": "COPY --from=build . /app"}},
		"copies something else":         {files: map[string]string{"Dockerfile": "COPY src go.mod /app/\nRUN cp -r . /x"}},
		"ignored":                       {files: map[string]string{"Dockerfile": "COPY . /", ".dockerignore": "# x\n/fold/\n"}},
		"ignored below":                 {files: map[string]string{"Dockerfile": "COPY . /", ".dockerignore": "fold/**"}},
		"ignored everywhere":            {files: map[string]string{"Dockerfile": "COPY . /", ".dockerignore": "**/fold"}},
		"all but some":                  {files: map[string]string{"Dockerfile": "COPY . /", ".dockerignore": "*\n!src"}},
		"taken back":                    {files: map[string]string{"Dockerfile": "COPY . /", ".dockerignore": "*\n!fold"}, want: "Dockerfile"},
		"ignored by its own file":       {files: map[string]string{"Dockerfile": "COPY . /", "Dockerfile.dockerignore": "fold"}},
		"its own file goes first":       {files: map[string]string{"Dockerfile": "COPY . /", "Dockerfile.dockerignore": "x", ".dockerignore": "fold"}, want: "Dockerfile"},
		"ignored by a longer name":      {files: map[string]string{"Dockerfile": "COPY . /", ".dockerignore": "folder"}, want: "Dockerfile"},
		"npm, hidden":                   {files: map[string]string{"package.json": `{"name": "a"}`}, hidden: true},
		"npm, on a branch":              {files: map[string]string{"package.json": `{"name": "a"}`}, want: "package.json"},
		"npm, private":                  {files: map[string]string{"package.json": `{"private": true}`}},
		"npm, a list without it":        {files: map[string]string{"package.json": `{"files": ["dist", "lib/**"]}`}},
		"npm, a list with all":          {files: map[string]string{"package.json": `{"files": ["*"]}`}, want: "package.json"},
		"npm, a list with all but it":   {files: map[string]string{"package.json": `{"files": ["*", "!fold"]}`}},
		"npm, left out":                 {files: map[string]string{"package.json": `{}`, ".npmignore": "fold/\n"}},
		"npm, no JSON":                  {files: map[string]string{"package.json": `{`}},
		"nothing that packs":            {files: map[string]string{"main.go": "package main"}},
		"an ignore file is no image":    {files: map[string]string{"Dockerfile.dockerignore": "COPY . /"}},
		"an image that copies only out": {files: map[string]string{"Dockerfile": "COPY"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for path, text := range tc.files {
				fsys[path] = &fstest.MapFile{Data: []byte(text)}
			}
			var got []string
			for _, s := range shippers(fsys, "fold", tc.hidden) {
				got = append(got, s.file)
				if s.why == "" || s.mend == "" {
					t.Errorf("%+v says not why, or not what to do", s)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("ship it: %v, want %q", got, tc.want)
			}
		})
	}
}
