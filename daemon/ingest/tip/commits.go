package tip

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

const (
	commitBatch  = 256  // commits written and indexed at once
	commitPage   = 5000 // of a long history, read at once
	commitFiles  = 50   // files a commit's memory names and links
	commitMerged = 2    // parents from which a commit is a merge
)

// Notes on a checkout in state.db.
const (
	noteCommitsAt   = "commits"      // a commitCursor
	noteCommitsLeft = "commits left" // how many commits were left out, a number
)

// CommitOptions say how far [Follower.RememberCommits] goes.
type CommitOptions struct {
	// History makes memories of that many commits up to the tip, however old.
	History int
	// Full makes also those that were deleted by hand.
	Full bool
}

// noCommits stands for a commitCursor where the repository has no commit yet.
const noCommits = "none"

// A commitCursor is how far commits became memories.
type commitCursor struct {
	at     string // the tip then; "" before the first look
	branch string // the default branch then
	// since is the tip when the branch was first seen: what it holds was there
	// before us, and stays out also when the branch is moved back and forth.
	since string
}

func (c commitCursor) String() string { return c.at + " " + c.since + " " + c.branch }

func parseCommitCursor(s string) (c commitCursor) {
	if s == noCommits {
		return c
	}
	c.at, s, _ = strings.Cut(s, " ")
	c.since, c.branch, _ = strings.Cut(s, " ")
	return c
}

// RememberCommits makes memories of the commits that came onto the default
// branch since it looked last, the newest MostCommits of them, and of as many up
// to the tip as opt says. Merges, the commits of programs and those that hold a
// credential are left out. What is there already stays as it is, so that a call
// that was cut short is continued by the next one. It returns at once where the
// branch has not moved.
func (fo *Follower) RememberCommits(ctx context.Context, opt CommitOptions, tell progress.Func) (r progress.Report, err error) {
	if fo.Store == nil {
		return r, nil
	}
	branch, tip, err := fo.branch.Default(ctx)
	if err != nil {
		return r, err
	}
	note, err := fo.State.Note(ctx, fo.Key, noteCommitsAt)
	if err != nil {
		return r, err
	}
	if tip == "" {
		if note == "" { // all that comes is new
			err = fo.State.SetNote(ctx, fo.Key, noteCommitsAt, noCommits)
		}
		return r, err
	}
	was := parseCommitCursor(note)
	if was.at == tip && was.branch == branch && opt.History == 0 {
		return r, nil
	}
	now := commitCursor{at: tip, branch: branch, since: was.since}
	var fresh []usergit.Commit
	var twins map[string]twin
	more := 0 // that came, beyond fresh
	switch {
	case note != noCommits && was.branch != branch:
		now.since = tip // what it holds was there before
	case was.at != tip && !fo.NoCommits:
		fresh, more, err = fo.newCommits(ctx, was, tip)
		if usergit.UnknownCommit(err) { // history was rewritten, and git has cleaned up since
			fresh, more, now.since, err = nil, 0, tip, nil
		}
		if err == nil {
			twins, err = fo.twins(ctx, fo.Repo, was.at, tip, fresh)
		}
		if err != nil {
			return r, err
		}
	}
	gone := map[fold.ID]bool{}
	if !opt.Full {
		if gone, err = fo.State.Gone(ctx, fo.Slug); err != nil {
			return r, err
		}
	}
	if r, err = fo.putCommits(ctx, fresh, twins, gone, progress.NewTally(tell, progress.StageCommits, len(fresh))); err != nil {
		return r, err
	}
	if err := fo.putHistory(ctx, tip, opt.History, gone, &r, tell); err != nil {
		return r, err
	}
	left, err := fo.CommitsLeft(ctx)
	if err != nil {
		return r, err
	}
	if left > 0 || more > 0 { // the commits that were left out lie below those that came since
		left += len(fresh) + more
		if err := fo.setCommitsLeft(ctx, left, opt.History); err != nil {
			return r, err
		}
	}
	return r, fo.State.SetNote(ctx, fo.Key, noteCommitsAt, now.String())
}

// newCommits returns the newest MostCommits that came since was, and how many
// more there are.
func (fo *Follower) newCommits(ctx context.Context, was commitCursor, tip string) (list []usergit.Commit, more int, err error) {
	not := []string{was.at, was.since}
	list, err = fo.Repo.Changes(ctx, tip, not, 0, fo.MostCommits)
	if err != nil || len(list) < fo.MostCommits {
		return list, 0, err
	}
	all, err := fo.Repo.CountChanges(ctx, tip, not)
	return list, all - len(list), err
}

// setCommitsLeft notes that left commits have to be asked for, unless they were.
func (fo *Follower) setCommitsLeft(ctx context.Context, left, asked int) error {
	note := ""
	if asked < left {
		note = strconv.Itoa(left)
	}
	return fo.State.SetNote(ctx, fo.Key, noteCommitsLeft, note)
}

// CommitsLeft returns how many commits would have to be asked for to have a
// memory of each that came since the checkout was added; 0 if there is one of
// each.
func (fo *Follower) CommitsLeft(ctx context.Context) (int, error) {
	note, err := fo.State.Note(ctx, fo.Key, noteCommitsLeft)
	if err != nil || note == "" {
		return 0, err
	}
	n, _ := strconv.Atoi(note) // nothing else is written there
	return n, nil
}

// putHistory is putCommits for the newest n commits of tip, which may be all
// there ever were: a page at a time.
func (fo *Follower) putHistory(ctx context.Context, tip string, n int, gone map[fold.ID]bool, r *progress.Report, tell progress.Func) error {
	if n <= 0 {
		return nil
	}
	all, err := fo.Repo.CountChanges(ctx, tip, nil)
	if err != nil {
		return err
	}
	n = min(n, all)
	count := progress.NewTally(tell, progress.StageCommits, n)
	for at := 0; at < n; at += commitPage {
		list, err := fo.Repo.Changes(ctx, tip, nil, at, min(commitPage, n-at))
		if err != nil {
			return err
		}
		did, err := fo.putCommits(ctx, list, nil, gone, count)
		r.Add(did)
		if err != nil {
			return err
		}
	}
	return nil
}

// putCommits writes the memories of commits that have none, and indexes them.
// Those of gone were deleted by hand.
func (fo *Follower) putCommits(ctx context.Context, list []usergit.Commit, twins map[string]twin, gone map[fold.ID]bool, count *progress.Tally) (r progress.Report, err error) {
	if len(list) == 0 {
		return r, nil
	}
	end := fo.Store.Bulk()
	defer func() {
		if eerr := end(ctx); err == nil {
			err = eerr
		}
	}()
	for part := range slices.Chunk(list, commitBatch) {
		var writes []gitops.Write
		for i := range part {
			if w, ok := fo.commitWrite(&part[i], twins[part[i].Oid]); ok && !gone[w.ID] {
				writes = append(writes, w)
			}
		}
		writes = slices.DeleteFunc(writes, func(w gitops.Write) bool {
			_, err := fo.Folder.Lstat(w.Path)
			return !errors.Is(err, fs.ErrNotExist) // what is there is left alone, whatever it is
		})
		if _, _, err := fo.Store.PutMany(ctx, writes); err != nil {
			return r, fmt.Errorf("remember commits: %w", err)
		}
		var written []string
		for _, w := range writes {
			written = append(written, w.Path)
		}
		did, err := fo.Indexer.Fold(ctx, written, nil)
		if err != nil {
			return r, err
		}
		r.Add(did)
		count.Worked(len(part), 0)
		count.Keep(len(part))
	}
	return r, nil
}

// commitWrite is the memory file of a commit; false for a commit that gets
// none.
func (fo *Follower) commitWrite(c *usergit.Commit, of twin) (w gitops.Write, ok bool) {
	if c.Parents >= commitMerged || c.Grafted || isBot(c) {
		return w, false
	}
	m := fo.commitMemory(c, of)
	title := func(id fold.ID) string { return fo.pathOf(c, id) }
	b := fold.Encode(m, title)
	if _, err := fold.Decode(fo.Slug, m.Path, b); err != nil {
		// The message looks like something that no memory may hold, a merge left
		// half done, say: quoted it does not.
		quoted := *c
		quoted.Body = "    " + strings.ReplaceAll(c.Body, "\n", "\n    ")
		b = fold.Encode(fo.commitMemory(&quoted, of), title)
		if _, err := fold.Decode(fo.Slug, m.Path, b); err != nil {
			return w, false
		}
	}
	if len(secret.Scan(b)) > 0 {
		return w, false // a message that holds a credential is not copied
	}
	return gitops.Write{ID: m.ID, Path: m.Path, New: b}, true
}

// commitMemory is the memory of one commit: a function of the commit alone, so
// that two machines write the same. One that makes the change of another commit
// again supersedes that one's memory, and leaves the rest to it if its message
// is the same too.
func (fo *Follower) commitMemory(c *usergit.Commit, of twin) *fold.Memory {
	id := fold.CommitID(fo.Slug, c.Oid)
	subject := plainLine(c.Subject)
	title := describe.Clip(subject, describe.MaxTitle)
	if title == "" {
		title = "Commit " + c.Oid[:10]
	}
	m := &fold.Memory{
		ID: id, Path: id.Path(), Title: title, Aliases: []string{title}, Type: "commit", Source: fold.SourceGit,
		Author: plainLine(c.AuthorName), Commit: c.Oid, CreatedAt: earlier(c.AuthorTime, c.Time), UpdatedAt: c.Time.UTC(),
		Keywords: describe.Keywords(c.Subject + "\n" + c.Body), Tags: fo.commitTags(c),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	if of.id != "" {
		m.Links = append(m.Links, fold.Link{From: id, To: of.id, Type: fold.LinkSupersedes, Weight: 1})
	}
	if of.same {
		b.WriteString("\n" + madeAgain + "\n")
		m.Body = b.String()
		return m
	}
	if title != subject && subject != "" {
		fmt.Fprintf(&b, "\n%s\n", subject)
	}
	if text := strings.Trim(c.Body, "\n"); strings.TrimSpace(text) != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	changed, more := fo.commitPaths(c)
	if len(changed) > 0 {
		b.WriteString("\n## Files\n")
		for _, f := range changed {
			fmt.Fprintf(&b, "- `%s`\n", f)
			if !slices.Contains(c.Removed, f) { // what is gone has no memory
				m.Links = append(m.Links, fold.Link{From: id, To: fold.FileID(fo.Slug, f), Type: fold.LinkModifies, Weight: 1})
			}
		}
		if more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	m.Body = b.String()
	return m
}

// madeAgain is all that a memory says of a commit that was rewritten without a
// change: the rest stands in the memory it supersedes.
const madeAgain = "The same commit as the one it supersedes, on top of another history: its message and its files stand there."

// commitPaths returns the files a commit's memory names, sorted, and how many
// more there are. Which are indexed at present is not asked: that differs from
// machine to machine and from day to day.
func (fo *Follower) commitPaths(c *usergit.Commit) (paths []string, more int) {
	for _, f := range c.Files {
		if (selection.Rules{}).Eligible(f, fo.Selection.FoldDir()) && !strings.ContainsAny(f, "`\n\r") {
			paths = append(paths, f)
		}
	}
	slices.Sort(paths)
	n := min(len(paths), commitFiles)
	return paths[:n:n], len(paths) - n + c.More
}

// commitTags returns what sorts a commit: its kind where the subject names one
// as many projects do (fix(auth): …), and what the files are about.
func (fo *Follower) commitTags(c *usergit.Commit) []string {
	var tags []string
	add := func(t string) {
		if t != "" && len(t) <= 24 && len(tags) < describe.MaxTags && !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	if kind, _, ok := strings.Cut(c.Subject, ":"); ok {
		kind, _, _ = strings.Cut(strings.TrimSuffix(strings.ToLower(kind), "!"), "(")
		if slices.Contains([]string{"feat", "fix", "docs", "refactor", "perf", "test", "build", "ci", "chore", "revert", "style"}, kind) {
			add(kind)
		}
	}
	if strings.HasPrefix(c.Subject, `Revert "`) {
		add("revert")
	}
	changed, _ := fo.commitPaths(c)
	for _, f := range changed {
		for dir := range strings.SplitSeq(strings.ToLower(f), "/") {
			add(describe.Area(describe.Stem(dir)))
		}
	}
	return tags
}

// plainLine is s as it may stand in one line of frontmatter.
func plainLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		a = b
	}
	return a.UTC()
}

func (fo *Follower) pathOf(c *usergit.Commit, id fold.ID) string {
	for _, f := range c.Files {
		if fold.FileID(fo.Slug, f) == id {
			return f
		}
	}
	if twin, _, err := fo.onDisk(id); err == nil && twin != nil {
		return twin.Title
	}
	return ""
}

// isBot reports whether a program made the commit, by its trailer or by the
// name it goes by.
func isBot(c *usergit.Commit) bool {
	name := strings.ToLower(c.AuthorName + " " + c.AuthorEmail)
	return c.Ours() || strings.Contains(name, "[bot]") || strings.Contains(name, "dependabot") || strings.Contains(name, "renovate") ||
		strings.HasPrefix(c.Subject, "fold: ")
}

// A twin is the memory of a commit that was rewritten.
type twin struct {
	id   fold.ID
	same bool // nothing but what it stands on
}

// twins returns, of the commits of list, those that take the place of a commit
// which is no longer on the branch and has a memory: what a rebase or an amend
// leaves. The repository of l has both.
func (fo *Follower) twins(ctx context.Context, l *usergit.Repo, was, tip string, list []usergit.Commit) (map[string]twin, error) {
	if len(list) == 0 || was == "" {
		return nil, nil
	}
	dropped, err := l.Changes(ctx, was, []string{tip}, 0, fo.MostCommits)
	if err != nil || len(dropped) == 0 {
		return nil, err
	}
	dropped = slices.DeleteFunc(dropped, func(c usergit.Commit) bool {
		_, err := fo.Folder.Lstat(fold.CommitID(fo.Slug, c.Oid).Path())
		return err != nil
	})
	pairs, err := sameChange(ctx, l, dropped, list)
	if err != nil {
		return nil, err
	}
	amended(pairs, dropped, list)
	twins := map[string]twin{}
	for c, old := range pairs {
		id, err := fo.firstTwin(fold.CommitID(fo.Slug, old.was.Oid))
		if err != nil {
			return nil, err
		}
		twins[c] = twin{id: id, same: old.moved}
	}
	return twins, nil
}

// A rewritten commit is one that another took the place of.
type rewritten struct {
	was   *usergit.Commit
	moved bool // and the other is the same on top of another history
}

// sameChange returns, by their oids, the commits of list that make the change of
// one that was dropped.
func sameChange(ctx context.Context, l *usergit.Repo, dropped, list []usergit.Commit) (map[string]rewritten, error) {
	// Only commits of one author on the same files are compared at length.
	like := func(c *usergit.Commit) string { return c.AuthorName + "\x00" + strings.Join(c.Files, "\x00") }
	alike := map[string][]*usergit.Commit{}
	for i := range dropped {
		alike[like(&dropped[i])] = append(alike[like(&dropped[i])], &dropped[i])
	}
	var oids []string
	for i := range list {
		if old := alike[like(&list[i])]; old != nil {
			oids = append(oids, list[i].Oid)
			for _, c := range old {
				oids = append(oids, c.Oid)
			}
		}
	}
	pairs := map[string]rewritten{}
	slices.Sort(oids)
	patches, err := l.PatchIDs(ctx, slices.Compact(oids))
	if errors.Is(err, fold.ErrUnavailable) {
		return pairs, nil // too much to compare
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		c := &list[i]
		for _, old := range alike[like(c)] {
			if patches[c.Oid] != "" && patches[c.Oid] == patches[old.Oid] {
				pairs[c.Oid] = rewritten{was: old, moved: c.Subject == old.Subject && c.Body == old.Body}
			}
		}
	}
	return pairs, nil
}

// amended adds to pairs the commits that an amend, a fixup or a rebase with
// conflicts changed: git leaves who wrote them and when. Where several of the
// same author have one time nothing is guessed.
func amended(pairs map[string]rewritten, dropped, list []usergit.Commit) {
	paired := map[string]bool{}
	for _, old := range pairs {
		paired[old.was.Oid] = true
	}
	type made struct {
		name, email string
		at          int64
	}
	by := func(commits []usergit.Commit, left func(*usergit.Commit) bool) map[made][]*usergit.Commit {
		all := map[made][]*usergit.Commit{}
		for i := range commits {
			if c := &commits[i]; left(c) {
				k := made{c.AuthorName, c.AuthorEmail, c.AuthorTime.Unix()}
				all[k] = append(all[k], c)
			}
		}
		return all
	}
	before := by(dropped, func(c *usergit.Commit) bool { return !paired[c.Oid] })
	for k, now := range by(list, func(c *usergit.Commit) bool { return pairs[c.Oid].was == nil }) {
		if old := before[k]; len(now) == 1 && len(old) == 1 {
			pairs[now[0].Oid] = rewritten{was: old[0]}
		}
	}
}

// firstTwin follows a memory that only refers to another to the one that holds
// the message.
func (fo *Follower) firstTwin(id fold.ID) (fold.ID, error) {
	m, _, err := fo.onDisk(id)
	if err != nil || m == nil || !strings.Contains(m.Body, madeAgain) {
		return id, ignoreQuarantined(err)
	}
	for _, l := range m.Links {
		if l.Type == fold.LinkSupersedes {
			if old, _, err := fo.onDisk(l.To); err == nil && old != nil {
				return l.To, nil
			}
		}
	}
	return id, nil
}
