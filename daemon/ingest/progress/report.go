package progress

import "github.com/foldwatch/foldwatch/meta/fold"

// A Report tells what one call did.
type Report struct {
	Checked   int // paths looked at
	Indexed   int // files whose content went into the index
	Unchanged int
	Removed   int
	Skipped   int
	Failed    int
	Memories  []fold.ID // memories that changed
	Kept      int       // memories of files that are left out now, kept for a person's words

	FoldMoved   bool // a sweep found something below fold/ other than the manifest had it
	ProjectFile bool // fold/project.toml changed
	Rules       bool // a file that says which files are indexed changed in a folder; see [selection.DecidesFiles]
}

// Add adds what another call did.
func (r *Report) Add(o Report) {
	r.Checked += o.Checked
	r.Indexed += o.Indexed
	r.Unchanged += o.Unchanged
	r.Removed += o.Removed
	r.Skipped += o.Skipped
	r.Failed += o.Failed
	r.Kept += o.Kept
	r.Memories = append(r.Memories, o.Memories...)
	r.FoldMoved = r.FoldMoved || o.FoldMoved
	r.ProjectFile = r.ProjectFile || o.ProjectFile
	r.Rules = r.Rules || o.Rules
}
