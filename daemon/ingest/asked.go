package ingest

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// What a description says of imports depends on the other files of the tree. So each that
// is kept in the index leaves there what it asked of them: where files come or go, those
// that would be answered otherwise now are made anew.

// answersDiffer reports whether what a record asked is answered otherwise by files. Words
// narrow it to imports that name one of them; nil means all. What is damaged differs.
func answersDiffer(record []byte, files *imports.Files, words []string) (file string, differ bool) {
	d := descriptionDecoder{s: string(record)}
	file, language := d.str(), d.str()
	for range d.count() {
		spec, was := d.str(), d.str()
		if d.err != nil {
			break
		}
		if words != nil && was == "" && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(spec, w) }) {
			continue
		}
		if is, _ := files.Resolve(file, language, spec); is != was {
			return file, true
		}
	}
	return file, d.err != nil
}

// mostWords is by how many names imports are looked up; with more, all are.
const mostWords = 64

// importWords returns the names of which an import has at least one that may mean any of
// paths, which came or went; nil if that may be any import.
func importWords(paths []string) []string {
	words := []string{}
	for _, p := range paths {
		dir, stem := path.Base(path.Dir(p)), describe.Stem(p)
		if dir == "." || dir == "src" || imports.IsPackageFile(p) || len(words) > mostWords {
			return nil // the package of a root is called as its module, not as its folder
		}
		words = append(words, dir, strings.TrimSuffix(path.Base(p), path.Ext(p)), stem)
	}
	return words
}

// refreshImports describes files again, of those that the index alone describes, whose
// imports mean others since the files at changed came or went. Told were described just
// now.
func (in *Ingester) refreshImports(ctx context.Context, changed []string, told []fold.ID) error {
	files, words := in.Files(), importWords(changed)
	fresh := make(map[fold.ID]bool, len(told))
	for _, id := range told {
		fresh[id] = true
	}
	var ids []fold.ID
	err := in.Index.EachLookups(ctx, func(id fold.ID, record []byte) error {
		if fresh[id] {
			return nil
		}
		if file, differ := answersDiffer(record, files, words); differ && files.Has(file) {
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	return in.describeAgain(ctx, ids)
}
