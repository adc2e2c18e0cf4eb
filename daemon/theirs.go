package daemon

import (
	"context"
	"errors"
	"fmt"
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

// mostTheirs is of how many of them one reply tells.
const mostTheirs = 3

// theirs are the memories that only the remote has, as of one state of it.
type theirs struct {
	mu   sync.Mutex // guards the fields below; held while they are read
	of   string     // what they were read for
	list []theirMemory
}

// A theirMemory is a memory that only the remote has.
type theirMemory struct {
	*fold.Memory
	terms map[string]bool
}

// listTheirs returns the memories that only the remote's branch has.
func (k *standing) listTheirs(ctx context.Context, slug string) []theirMemory {
	if !k.isOnto() {
		return nil
	}
	store := k.sidecar.store
	st, err := store.BranchState(ctx)
	if err != nil || len(st.Theirs) == 0 {
		return nil
	}
	k.theirs.mu.Lock()
	defer k.theirs.mu.Unlock()
	if of := st.RemoteTip + " " + store.Tip(); k.theirs.of != of {
		k.theirs.of, k.theirs.list = of, readTheirs(ctx, store, slug, st.Theirs)
	}
	var left []theirMemory
	for _, m := range k.theirs.list {
		if _, err := store.Read(m.Path); err != nil { // else it came meanwhile, or an older version is here
			left = append(left, m)
		}
	}
	return left
}

func readTheirs(ctx context.Context, store *gitops.Store, slug string, blobs map[string]string) (list []theirMemory) {
	_ = store.EachTheirs(ctx, blobs, func(path string, b []byte) {
		m, err := fold.Decode(slug, path, b)
		if err != nil || m.Deleted {
			return
		}
		t := theirMemory{m, map[string]bool{}}
		for _, w := range words.Analyze(strings.Join([]string{m.Title, m.Context, strings.Join(m.Tags, " "), strings.Join(m.Keywords, " "), m.FilePath, m.Body}, "\n")) {
			t.terms[w] = true
		}
		list = append(list, t)
	})
	slices.SortFunc(list, func(a, b theirMemory) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return list
}

// findTheirs returns the memories of the remote that have all words of a search. Later
// pages, and filters that these cannot pass, have none.
func (k *standing) findTheirs(ctx context.Context, slug string, in wire.SearchRequest) (found []theirMemory) {
	if in.Cursor != "" || in.FilePattern != "" || in.Language != "" || in.After != "" || in.Before != "" || in.MinScore > 0 {
		return nil
	}
	asked := words.Analyze(in.Query)
	for _, m := range k.listTheirs(ctx, slug) {
		fits := len(asked) > 0 && (in.Source == "" || in.Source == string(m.Source)) && (in.Type == "" || in.Type == m.Type) && (in.Author == "" || in.Author == m.Author)
		for _, t := range in.Tags {
			fits = fits && slices.Contains(m.Tags, t)
		}
		for _, w := range asked {
			fits = fits && m.terms[w]
		}
		if fits && len(found) < mostTheirs {
			found = append(found, m)
		}
	}
	return found
}

// addTheirs tells in the first page of a search which memories of the remote have all
// its words. Where the reply is bounded they are only named. Project is told where there
// are several, else "".
func addTheirs(found []theirMemory, project string, in wire.SearchRequest, reply *wire.SearchReply) {
	if len(found) == 0 {
		return
	}
	var ids []string
	for _, m := range found {
		ids = append(ids, string(m.ID))
		if in.TokenBudget > 0 {
			continue
		}
		snippet := []rune(strings.Join(strings.Fields(m.Body), " "))
		reply.Results = append(reply.Results, wire.SearchResult{
			ID: string(m.ID), Type: m.Type, Title: m.Title, Snippet: string(snippet[:min(len(snippet), 200)]), Origin: wire.OriginRemote, Project: project,
			Metadata:  wire.ResultMetadata{Source: string(m.Source), FilePath: m.FilePath, Path: m.Path, Author: m.Author, Tags: m.Tags},
			CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
			Why: []wire.Reason{{Kind: wire.WhyText, Text: "on the remote's branch only; read-only until you pull"}},
		})
		reply.Total++
	}
	if reply.Notice != "" {
		reply.Notice += "; "
	}
	reply.Notice += "on the remote's branch only, to be read until you pull: " + strings.Join(ids, ", ")
}

// theirMemories returns the memories that only the remote's branch has.
func (h *hold) theirMemories(ctx context.Context) (list []*fold.Memory) {
	for _, m := range h.listTheirs(ctx, h.co.rec.Slug) {
		list = append(list, m.Memory)
	}
	return list
}

// contextTheirs returns what surrounds the memory called id if it is one that only the
// remote has, else err.
func (h *hold) contextTheirs(ctx context.Context, id string, in wire.ContextRequest, err error) (wire.ContextReply, error) {
	m, err := h.getTheirs(ctx, id, err)
	if err != nil {
		return wire.ContextReply{}, err
	}
	reply := wire.ContextReply{Memory: m, RelatedMemories: []wire.RelatedMemory{}, SimilarMemories: []wire.SimilarMemory{}}
	err = h.recall.Surround(ctx, fold.ID(m.ID), false, h.theirMemories(ctx), in, &reply)
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
