package ingest

import (
	"context"
	"maps"
	"slices"

	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// linkers know which memories link to others by name: when a name comes, goes or
// changes, only those that use it are looked at again.
type linkers struct {
	by    map[string]map[fold.ID]bool // name → memories that link by it
	names map[fold.ID][]string
}

func (l *linkers) set(id fold.ID, names []string) {
	for _, n := range l.names[id] {
		if delete(l.by[n], id); len(l.by[n]) == 0 {
			delete(l.by, n)
		}
	}
	if delete(l.names, id); len(names) == 0 {
		return
	}
	l.names[id] = names
	for _, n := range names {
		if l.by[n] == nil {
			l.by[n] = map[fold.ID]bool{}
		}
		l.by[n][id] = true
	}
}

// linkersNow returns what is known of links by name, read from the index once.
func (in *Ingester) linkersNow(ctx context.Context) (*linkers, error) {
	if in.linkers != nil {
		return in.linkers, nil
	}
	l := &linkers{by: map[string]map[fold.ID]bool{}, names: map[fold.ID][]string{}}
	err := in.Index.EachLinking(ctx, func(row meta.Row) error {
		l.set(row.ID, row.LinkNames())
		return nil
	})
	if err != nil {
		return nil, err
	}
	in.linkers = l
	return l, nil
}

// noteLinkers follows what a batch changed.
func (in *Ingester) noteLinkers(found []*foldChange) {
	if in.linkers == nil {
		return
	}
	for _, fc := range found {
		if fc.was.MemoryID != "" && (fc.gone || fc.m == nil && fc.file.State != "indexed" || fc.m != nil && fc.m.ID != fc.was.MemoryID) {
			in.linkers.set(fc.was.MemoryID, nil)
		}
		if fc.m != nil {
			in.linkers.set(fc.m.ID, fc.m.LinkNames())
		}
	}
}

// namesOf are those under which the memories that a batch changed were found, or
// are found now.
func namesOf(found []*foldChange) []string {
	var names []string
	for _, fc := range found {
		for _, row := range fc.before {
			e := fold.ResolverEntry{ID: row.ID, Path: row.Path, Title: row.Title, Aliases: row.Aliases, Foreign: row.Foreign}
			names = append(names, e.Names()...)
		}
		if fc.m != nil {
			e := fold.ResolverEntry{ID: fc.m.ID, Path: fc.file.Path, Title: fc.m.Title, Aliases: fc.m.Aliases, Foreign: fc.m.Foreign}
			names = append(names, e.Names()...)
		}
	}
	return names
}

// owedNames notes that links by name are still to be resolved: a crash in the
// middle of many memory files leaves it.
const owedNames = "owed names"

// bulkFiles is how many memory files are so many that their links by name are
// resolved once, at the end: each batch would read the names of all memories.
const bulkFiles = 4 * batchFiles

// beginBulk begins to read n memory files.
func (in *Ingester) beginBulk(ctx context.Context, n int) (bool, error) {
	if n <= bulkFiles || in.bulk {
		return false, nil
	}
	if err := in.State.SetNote(ctx, in.Key, owedNames, "yes"); err != nil {
		return false, err
	}
	in.bulk = true
	return true, nil
}

// endBulk resolves all links by name.
func (in *Ingester) endBulk(ctx context.Context) error {
	in.bulk, in.linkers = false, nil
	l, err := in.linkersNow(ctx)
	if err != nil {
		return err
	}
	if err := in.relink(ctx, slices.Collect(maps.Keys(l.names))); err != nil {
		return err
	}
	return in.State.SetNote(ctx, in.Key, owedNames, "")
}

// payNames does what a crash left owed.
func (in *Ingester) payNames(ctx context.Context) error {
	owed, err := in.State.Note(ctx, in.Key, owedNames)
	if err != nil || owed == "" {
		return err
	}
	return in.endBulk(ctx)
}
