package ingest

import (
	"context"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// resolverFor returns what the links by name of some memories lead to: only the
// memories that have one of these names are read.
func (in *Ingester) resolverFor(ctx context.Context, linking []*fold.Memory) ([]fold.ResolverEntry, error) {
	var names []string
	var ids []fold.ID
	for _, m := range linking {
		n, i := m.LinkTargets()
		names, ids = append(names, n...), append(ids, i...)
	}
	entries, err := in.Index.ResolverEntriesOf(ctx, distinct(names), distinct(ids))
	in.Count.Names.Add(int64(len(entries)))
	return entries, err
}

// resolverWith is the resolver for the links of what was found, with the
// memories that are about to be added.
func (in *Ingester) resolverWith(ctx context.Context, found []*foldChange) (*fold.Resolver, error) {
	if in.bulk {
		return fold.NewResolver(nil), nil // ids only: the rest follows at its end
	}
	var linking []*fold.Memory
	fresh := map[fold.ID]bool{}
	for _, fc := range found {
		if fc.m != nil {
			linking = append(linking, fc.m)
			fresh[fc.m.ID] = true
		}
		if fc.known && fc.was.MemoryID != "" && (fc.gone || fc.m == nil && fc.file.State != "indexed") {
			fresh[fc.was.MemoryID] = true
		}
	}
	entries, err := in.resolverFor(ctx, linking)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fold.ResolverEntry) bool { return fresh[e.ID] })
	for _, fc := range found {
		if fc.m != nil {
			entries = append(entries, fold.ResolverEntry{ID: fc.m.ID, Path: fc.file.Path, Title: fc.m.Title, Aliases: fc.m.Aliases, Foreign: fc.m.Foreign})
		}
	}
	return fold.NewResolver(entries), nil
}

// relinkDangling resolves links by name again when names came, went or changed:
// a link may be written before its target is. Only memories that use one of
// these names are looked at.
func (in *Ingester) relinkDangling(ctx context.Context, found []*foldChange) error {
	if in.bulk {
		return nil // all of them at its end
	}
	fresh := map[fold.ID]bool{}
	var renamed []*foldChange
	for _, fc := range found {
		if fc.m != nil {
			fresh[fc.m.ID] = true
		}
		if fc.named || fc.m == nil && fc.file.State != "indexed" {
			renamed = append(renamed, fc)
		}
	}
	if len(renamed) == 0 {
		return nil
	}
	ids, err := in.Index.LinkersOf(ctx, distinct(namesOf(renamed)))
	if err != nil {
		return err
	}
	return in.relink(ctx, slices.DeleteFunc(ids, func(id fold.ID) bool { return fresh[id] }))
}

// relink resolves the links of memories again.
func (in *Ingester) relink(ctx context.Context, ids []fold.ID) error {
	for part := range slices.Chunk(ids, relinkAtOnce) {
		rows, err := in.Index.Memories(ctx, part)
		if err != nil {
			return err
		}
		in.Count.Names.Add(int64(len(rows)))
		var linking []*fold.Memory
		for _, id := range part {
			if row, ok := rows[id]; ok && row.Described == "fold" {
				linking = append(linking, &row.Memory)
			}
		}
		entries, err := in.resolverFor(ctx, linking)
		if err != nil {
			return err
		}
		resolver := fold.NewResolver(entries)
		changes := make([]index.Change, 0, len(linking))
		for _, m := range linking {
			changes = append(changes, index.Change{ID: m.ID, Links: m.WrittenLinks(resolver.Resolve), SetLinks: true})
		}
		if len(changes) == 0 {
			continue
		}
		if _, err := in.apply(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// relinkAtOnce is how many memories are linked again in one transaction.
const relinkAtOnce = 512

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

// notePendingNames notes that links by name are still to be resolved: a crash in the
// middle of many memory files leaves it.
const notePendingNames = "owed names"

// bulkFiles is how many memory files are so many that their links by name are
// resolved once, at the end: most of what they lead to is read by then.
const bulkFiles = 4 * batchFiles

// beginBulk begins to read n memory files.
func (in *Ingester) beginBulk(ctx context.Context, n int) (bool, error) {
	if n <= bulkFiles || in.bulk {
		return false, nil
	}
	if err := in.State.SetNote(ctx, in.Key, notePendingNames, "yes"); err != nil {
		return false, err
	}
	if err := in.Index.BeginBulk(ctx, n); err != nil {
		return false, err
	}
	in.bulk = true
	return true, nil
}

// endBulk resolves all links by name.
func (in *Ingester) endBulk(ctx context.Context) error {
	in.bulk = false
	if err := in.Index.EndBulk(ctx); err != nil {
		return err
	}
	ids, err := in.Index.Linkers(ctx)
	if err != nil {
		return err
	}
	if err := in.relink(ctx, ids); err != nil {
		return err
	}
	return in.State.SetNote(ctx, in.Key, notePendingNames, "")
}

// resolvePendingNames resolves the links that a crash left unresolved.
func (in *Ingester) resolvePendingNames(ctx context.Context) error {
	if err := in.Index.EndBulk(ctx); err != nil {
		return err
	}
	pending, err := in.State.Note(ctx, in.Key, notePendingNames)
	if err != nil || pending == "" {
		return err
	}
	return in.endBulk(ctx)
}
