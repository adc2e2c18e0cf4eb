package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// Where the user's own branch may not be brought forward, the memories that only the
// remote's branch has are shown all the same, to be read and not to be changed
// (git.md B7). They are few and for a while: they are kept in memory, in no index, found
// by searches whose words they all have, listed, and told beside what links join with them.
//
// Of a memory that is here in another version, that one is what is found, read and
// written, by its own hash; it is marked, and whoever reads it gets the remote's beside
// it. A search that only the remote's version has the words of finds that.

// mostTheirs is of how many of them one reply tells.
const mostTheirs = 3

// theirs are the memories that the remote has changed, as of one state of it.
type theirs struct {
	mu   sync.Mutex // guards the fields below; held while they are read
	of   string     // what they were read for
	list []theirMemory
}

// A theirMemory is a memory as the remote has it, and the checkout has not.
type theirMemory struct {
	*fold.Memory
	blob   string // git's name of its file
	hash   string // of its file
	terms  map[string]bool
	here   map[string]bool // terms of the version that is here; nil if there is none
	hereOf string          // hash of that version's file
}

// lookTheirs returns the memories that only the remote's branch has, and those that are
// here in another version, both with the newest first. Ids limit it to some; none means
// all. It reads the file of each, and its words when that has changed.
func (k *standing) lookTheirs(ctx context.Context, slug string, ids ...string) (only, changed []theirMemory) {
	if !k.isOnto() {
		return nil, nil
	}
	store := k.sidecar.store
	st, err := store.BranchState(ctx)
	if err != nil || len(st.Theirs) == 0 {
		return nil, nil
	}
	k.theirs.mu.Lock()
	defer k.theirs.mu.Unlock()
	if of := st.RemoteTip + " " + store.Tip(); k.theirs.of != of {
		k.theirs.of, k.theirs.list = of, readTheirs(ctx, store, slug, st.Theirs, k.theirs.list)
		if ctx.Err() != nil { // whoever asked is gone, and not all may have been read
			k.theirs.of = ""
		}
	}
	for i := range k.theirs.list {
		m := &k.theirs.list[i]
		if len(ids) > 0 && !slices.Contains(ids, string(m.ID)) {
			continue
		}
		b, err := store.Read(m.Path)
		if err != nil {
			if !m.Deleted {
				m.here, m.hereOf = nil, ""
				only = append(only, *m)
			}
			continue
		}
		hash := fold.ContentHash(b)
		if hash == m.hash { // it came meanwhile
			continue
		}
		if m.hereOf != hash {
			m.here, m.hereOf = map[string]bool{}, hash
			if is, err := fold.Decode(slug, m.Path, b); err == nil {
				m.here = termsOf(is)
			}
		}
		changed = append(changed, *m)
	}
	return only, changed
}

// listTheirs returns the memories that only the remote's branch has.
func (k *standing) listTheirs(ctx context.Context, slug string) []theirMemory {
	only, _ := k.lookTheirs(ctx, slug)
	return only
}

// readTheirs reads the memories that blobs names by path. Those of before that are the
// same are not read again.
func readTheirs(ctx context.Context, store *gitops.Store, slug string, blobs map[string]string, before []theirMemory) (list []theirMemory) {
	rest := maps.Clone(blobs)
	for _, m := range before {
		if blobs[m.Path] == m.blob {
			list = append(list, m)
			delete(rest, m.Path)
		}
	}
	_ = store.EachTheirs(ctx, rest, func(path string, b []byte) {
		if m, err := fold.Decode(slug, path, b); err == nil {
			list = append(list, theirMemory{Memory: m, blob: blobs[path], hash: fold.ContentHash(b), terms: termsOf(m)})
		}
	})
	slices.SortFunc(list, func(a, b theirMemory) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return list
}

// termsOf returns the words that a search may find m by.
func termsOf(m *fold.Memory) map[string]bool {
	terms := map[string]bool{}
	for _, w := range words.Analyze(strings.Join([]string{m.Title, m.Context, strings.Join(m.Tags, " "), strings.Join(m.Keywords, " "), m.FilePath, m.Body}, "\n")) {
		terms[w] = true
	}
	return terms
}

// A theirsFound is what a search finds of what the remote's branch has. Project is told
// where there are several, else "".
type theirsFound struct {
	project        string
	changed, found []theirMemory
	rest           []theirMemory // found, and no room for them: they are named
}

// searchTheirs returns what a search finds on the remote's branch of the project slug.
func (k *standing) searchTheirs(ctx context.Context, slug, project string, in wire.SearchRequest) theirsFound {
	only, changed := k.lookTheirs(ctx, slug)
	return theirsFound{project: project, changed: changed, found: findTheirs(only, changed, in)}
}

// withRoom returns in with room left in its first page for what was found on remotes, of
// which at most half are shown: a page has no more results than were asked for, and none
// of this machine's is passed over by the next one.
func withRoom(in wire.SearchRequest, all []theirsFound) wire.SearchRequest {
	if in.TokenBudget > 0 { // they are named only
		return in
	}
	limit, room := recall.MostResults(in.Limit), 0
	for i := range all {
		f := &all[i]
		n := min(len(f.found), limit/2-room)
		f.found, f.rest = f.found[:n], f.found[n:]
		room += len(f.found)
	}
	in.Limit = limit - room
	return in
}

// tell tells in the reply to a search what the remote's branch has: which results it has
// changed, and in the first page which memories have all words of the search there alone.
func (f theirsFound) tell(in wire.SearchRequest, reply *wire.SearchReply) {
	markChanged(f.changed, f.project, in, reply)
	addTheirs(f.found, f.rest, f.project, in, reply)
}

// theirScore is the score of a memory that has all words of a search and is in no index:
// half for these, half for the share of them that its title has. Scores of results lie
// in the same bounds, from 0 to 1, where 1 is what is best by all that counts.
func theirScore(m *fold.Memory, query string) float64 {
	asked, title := words.Analyze(query), words.Analyze(m.Title)
	n := 0
	for _, w := range asked {
		if slices.Contains(title, w) {
			n++
		}
	}
	return 0.5 + 0.5*float64(n)/float64(max(len(asked), 1))
}

// markChanged marks those results that the remote has changed. Where the reply is
// bounded they are only named.
func markChanged(changed []theirMemory, project string, in wire.SearchRequest, reply *wire.SearchReply) {
	var ids []string
	for i := range reply.Results {
		r := &reply.Results[i]
		if (project != "" && r.Project != project) || !has(changed, r.ID) {
			continue
		}
		if in.TokenBudget > 0 {
			ids = append(ids, r.ID)
		} else {
			r.ChangedOnRemote = true
		}
	}
	if len(ids) > 0 {
		notice(reply, "changed on the remote's branch since, which you have to pull: "+strings.Join(ids, ", "))
	}
}

func has(list []theirMemory, id string) bool {
	return slices.ContainsFunc(list, func(m theirMemory) bool { return string(m.ID) == id })
}

// findTheirs returns the memories of the remote that have all words of a search. Later
// pages, and filters that these cannot pass, have none, nor has a version one whose words
// the one that is here has too: that is found by itself.
func findTheirs(only, changed []theirMemory, in wire.SearchRequest) (found []theirMemory) {
	if in.Cursor != "" || in.FilePattern != "" || in.Language != "" || in.After != "" || in.Before != "" || in.MinScore > 0 {
		return nil
	}
	asked := words.Analyze(in.Query)
	all := func(terms map[string]bool) bool {
		return len(asked) > 0 && !slices.ContainsFunc(asked, func(w string) bool { return !terms[w] })
	}
	for _, m := range slices.Concat(only, changed) {
		fits := !m.Deleted && all(m.terms) && !all(m.here) &&
			(in.Source == "" || in.Source == string(m.Source)) && (in.Type == "" || in.Type == m.Type) && (in.Author == "" || in.Author == m.Author)
		for _, t := range in.Tags {
			fits = fits && slices.Contains(m.Tags, t)
		}
		if fits && len(found) < mostTheirs {
			found = append(found, m)
		}
	}
	return found
}

// notice adds to what is to be known of all results.
func notice(reply *wire.SearchReply, text string) {
	if reply.Notice != "" {
		reply.Notice += "; "
	}
	reply.Notice += text
}

// addTheirs tells which memories of the remote a search found. Where the reply is bounded
// they are only named, as those of rest are.
func addTheirs(found, rest []theirMemory, project string, in wire.SearchRequest, reply *wire.SearchReply) {
	var ids []string
	for _, m := range rest {
		ids = append(ids, string(m.ID))
	}
	for _, m := range found {
		at := slices.IndexFunc(reply.Results, func(r wire.SearchResult) bool { return r.ID == string(m.ID) && (project == "" || r.Project == project) })
		if at >= 0 { // the version that is here is told, and marked
			if in.TokenBudget == 0 {
				reply.Results[at].Why = append(reply.Results[at].Why, wire.Reason{Kind: wire.WhyText, Text: "the version of the remote's branch has all words of the query"})
			}
			continue
		}
		if ids = append(ids, string(m.ID)); in.TokenBudget > 0 {
			continue
		}
		why := "on the remote's branch only; read-only until you pull"
		if m.here != nil {
			why = "in the version of the remote's branch only; read-only until you pull"
		}
		snippet := []rune(strings.Join(strings.Fields(m.Body), " "))
		score := theirScore(m.Memory, in.Query)
		at = slices.IndexFunc(reply.Results, func(r wire.SearchResult) bool { return r.Score < score })
		if at < 0 {
			at = len(reply.Results)
		}
		reply.Results = slices.Insert(reply.Results, at, wire.SearchResult{
			Score: score, Relevance: score, ID: string(m.ID), Type: m.Type, Title: m.Title, Snippet: string(snippet[:min(len(snippet), 200)]), Origin: wire.OriginRemote, Project: project,
			Metadata:  wire.ResultMetadata{Source: string(m.Source), FilePath: m.FilePath, Path: m.Path, Author: m.Author, Tags: m.Tags},
			CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
			Why: []wire.Reason{{Kind: wire.WhyText, Text: why}}, ChangedOnRemote: m.here != nil,
		})
		reply.Total++
	}
	if len(ids) > 0 {
		notice(reply, "on the remote's branch only, to be read until you pull: "+strings.Join(ids, ", "))
	}
}

// markItem marks an item of a list that the remote has changed.
func markItem(changed []theirMemory, item *wire.MemoryItem) {
	item.ChangedOnRemote = item.Origin == "" && has(changed, item.ID)
}

// tellVersion adds to m, which is here, what the remote has made of it.
func tellVersion(changed []theirMemory, m *wire.Memory) {
	at := slices.IndexFunc(changed, func(t theirMemory) bool { return string(t.ID) == m.ID })
	if at < 0 {
		return
	}
	t := changed[at]
	m.Remote = &wire.RemoteVersion{UpdatedAt: t.UpdatedAt, Deleted: t.Deleted}
	if !t.Deleted {
		m.Remote = &wire.RemoteVersion{Title: t.Title, Author: t.Author, Tags: t.Tags, Context: t.Context, Content: t.Body, UpdatedAt: t.UpdatedAt}
	}
}

// memoriesOf returns the memories of a list of the remote's.
func memoriesOf(theirs []theirMemory) (list []*fold.Memory) {
	for _, m := range theirs {
		list = append(list, m.Memory)
	}
	return list
}

// tellContext adds to what surrounds the memory called id, which is here, what the
// remote's branch has of that.
func (h *hold) tellContext(ctx context.Context, id fold.ID, in wire.ContextRequest, reply *wire.ContextReply) error {
	only, changed := h.lookTheirs(ctx, h.co.rec.Slug)
	if in.TokenBudget == 0 {
		tellVersion(changed, &reply.Memory)
		for i := range reply.RelatedMemories {
			markItem(changed, &reply.RelatedMemories[i].MemoryItem)
		}
		for i := range reply.SimilarMemories {
			markItem(changed, &reply.SimilarMemories[i].MemoryItem)
		}
	}
	if len(only) == 0 {
		return nil
	}
	return h.recall.Surround(ctx, id, true, memoriesOf(only), in, reply)
}

// contextTheirs returns what surrounds the memory called id if it is one that only the
// remote has, else err.
func (h *hold) contextTheirs(ctx context.Context, id string, in wire.ContextRequest, err error) (wire.ContextReply, error) {
	m, err := h.getTheirs(ctx, id, err)
	if err != nil {
		return wire.ContextReply{}, err
	}
	reply := wire.ContextReply{Memory: m, RelatedMemories: []wire.RelatedMemory{}, SimilarMemories: []wire.SimilarMemory{}}
	err = h.recall.Surround(ctx, fold.ID(m.ID), false, memoriesOf(h.listTheirs(ctx, h.co.rec.Slug)), in, &reply)
	return reply, err
}

// theirsCalled returns the one memory that only the remote has whose id is, or begins
// with, id.
func (h *hold) theirsCalled(ctx context.Context, id string) (found theirMemory, ok bool) {
	id = strings.ToLower(id)
	for _, m := range h.listTheirs(ctx, h.co.rec.Slug) {
		if len(id) >= 4 && strings.HasPrefix(string(m.ID), id) {
			if ok {
				return found, false
			}
			found, ok = m, true
		}
	}
	return found, ok
}

// getTheirs returns the memory called id if it is one that only the remote has, else
// err.
func (h *hold) getTheirs(ctx context.Context, id string, err error) (wire.Memory, error) {
	if !errors.Is(err, fold.ErrNotFound) {
		return wire.Memory{}, err
	}
	t, ok := h.theirsCalled(ctx, id)
	if !ok {
		return wire.Memory{}, err
	}
	m := recall.Bare(t.Memory)
	m.Project, m.RepositoryID, m.Origin = h.co.rec.Slug, h.co.rec.Key, wire.OriginRemote
	m.State = wire.WriteState{Durable: true, Committed: true, Pushed: true, BlockedReason: "on the remote's branch only: git pull brings it"}
	return m, nil
}

// notTheirs returns err, or that the memory called id cannot be changed since only the
// remote has it.
func (h *hold) notTheirs(ctx context.Context, id string, err error) error {
	if !errors.Is(err, fold.ErrNotFound) {
		return err
	}
	t, ok := h.theirsCalled(ctx, id)
	if !ok {
		return err
	}
	return fold.WithHint(fmt.Errorf("memory %s is on the remote's branch only, and can be read but not changed: %w", t.ID, fold.ErrConflict), "git pull")
}
