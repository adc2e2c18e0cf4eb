package daemon_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/webhook"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const hookSecret = "a secret of sixteen bytes"

// A hookRig is a project with a remote, somebody else who pushes there, and a
// listener for webhooks.
type hookRig struct {
	*project
	t      *testing.T
	remote string
	other  string // clone of somebody else
	repo   string // id of the repository
	server *httptest.Server
	sent   int

	evil   *httptest.Server // named by every payload
	called atomic.Int64     // how often somebody asked it
}

func newHookRig(t *testing.T) *hookRig {
	t.Helper()
	r := &hookRig{t: t}
	r.evil = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.called.Add(1) }))
	t.Cleanup(func() {
		r.evil.Close()
		if n := r.called.Load(); n > 0 {
			t.Errorf("what the payloads named was asked %d times", n)
		}
	})
	r.remote, r.other = filepath.Join(realDir(t), "remote.git"), filepath.Join(realDir(t), "other")
	dir := New(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	git(t, dir, "init", "-q", "--bare", r.remote)
	git(t, dir, "remote", "add", "origin", r.remote)
	git(t, dir, "push", "-q", "origin", "main")
	git(t, dir, "clone", "-q", r.remote, r.other)
	cfg, _, err := conf.Load(filepath.Join(dir, "none.toml"), []string{"FOLDWATCH_WEBHOOKS_SECRET_ENV=HOOK_SECRET", "HOOK_SECRET=" + hookSecret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.cfg = cfg })
	r.project = m.add(dir, wire.ProjectCreate{Slug: "pool"})
	r.turnOn()
	r.listen()
	return r
}

func (r *hookRig) turnOn() {
	r.t.Helper()
	on, err := r.d.AddRepository(r.ctx(), local(), r.slug, wire.RepositoryCreate{Remote: r.remote})
	if err != nil || on.Synced == nil {
		r.t.Fatalf("AddRepository: %+v, %v", on, err)
	}
	r.repo = on.Repository.ID
}

func (r *hookRig) listen() {
	if r.server != nil {
		r.server.Close()
	}
	r.server = httptest.NewServer(webhook.New(r.d, webhook.Options{}))
	r.t.Cleanup(r.server.Close)
}

// push has the other one commit and push, and returns the commit.
func (r *hookRig) push(name, text, message string) string {
	r.t.Helper()
	writeFile(r.t, filepath.Join(r.other, name), text)
	git(r.t, r.other, "add", "-A")
	git(r.t, r.other, "commit", "-q", "-m", message)
	git(r.t, r.other, "push", "-q", "origin", "HEAD")
	return strings.TrimSpace(git(r.t, r.other, "rev-parse", "HEAD"))
}

// send sends a body as GitHub does and returns the answer.
func (r *hookRig) send(event, id, body string) (status int, answer string, took time.Duration) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, r.server.URL+"/webhooks/github/"+r.repo, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	_, _ = io.WriteString(mac, body)
	for k, v := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": id, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		req.Header.Set(k, v)
	}
	begun := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b), time.Since(begun)
}

// pushed sends the webhook of a push.
func (r *hookRig) pushed(branch, after string) (status int, answer string, took time.Duration) {
	r.t.Helper()
	r.sent++
	body := fmt.Sprintf(`{"ref":"refs/heads/%[1]s","after":%[2]q,"compare":"%[3]s/x","repository":{"url":"%[3]s","clone_url":"%[3]s/evil.git","ssh_url":"ext::curl %[3]s","full_name":"a/b"},"n":%[4]d}`, branch, after, r.evil.URL, r.sent)
	return r.send("push", fmt.Sprint("delivery ", r.sent), body)
}

func (r *hookRig) want(wantStatus int, wantText string) func(status int, answer string, took time.Duration) {
	r.t.Helper()
	return func(status int, answer string, _ time.Duration) {
		r.t.Helper()
		if status != wantStatus || !strings.Contains(answer, wantText) {
			r.t.Errorf("answered %d %s, want %d %s", status, answer, wantStatus, wantText)
		}
	}
}

// finds reports whether a search finds a memory of a type with that title.
func (r *hookRig) finds(query, kind, title string) bool {
	r.t.Helper()
	reply, err := r.d.Search(r.ctx(), local(), r.slug, wire.SearchRequest{Query: query, Type: kind})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range reply.Results {
		if m.Type == kind && m.Title == title {
			return true
		}
	}
	return false
}

func (r *hookRig) ahead() *wire.RemoteAhead {
	r.t.Helper()
	st, err := r.d.ProjectStatus(r.ctx(), local(), r.slug)
	if err != nil || st.Repository == nil {
		r.t.Fatalf("ProjectStatus: %+v, %v", st.Repository, err)
	}
	return st.Repository.Ahead
}

// gitFiles lists what lies in the user's git folder, byte for byte, without ours.
func gitFiles(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Join(dir, ".git"), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "foldwatch" {
				return fs.SkipDir
			}
			fmt.Fprintf(&b, "%s/\n", p)
			return nil
		}
		text, err := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %x\n", p, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWebhookBringsTheDefaultBranch has somebody push, and a webhook tell of it: the
// commits are memories and votes at once, status says how far the remote is ahead,
// and no byte of the user's repository changed (git.md I4).
func TestWebhookBringsTheDefaultBranch(t *testing.T) {
	t.Parallel()
	r := newHookRig(t)
	before := gitFiles(t, r.dir)
	commit := r.push("main.go", "package main\n\nfunc main() { println() }\n", "Feed the quokka")
	begun := time.Now()
	status, answer, took := r.pushed("main", commit)
	r.want(http.StatusAccepted, `"queued"`)(status, answer, took)
	r.eventually("the commit is found", func() bool { return r.finds("quokka", "commit", "Feed the quokka") })
	found := time.Since(begun)
	if a := r.ahead(); a == nil || a.Branch != "main" || a.Commits != 1 || a.Rev != commit {
		t.Errorf("ahead = %+v, want 1 commit of main at %s", a, commit)
	}
	r.eventually("the commit votes for its file", func() bool {
		got := commitsFind(r.project, wire.SearchRequest{Query: "quokkas"})
		return len(got) == 1 && got[0] == "main.go"
	})
	if after := gitFiles(t, r.dir); after != before {
		t.Errorf("the user's repository changed:\n%s\nwas\n%s", after, before)
	}
	t.Logf("WEBHOOK n=1 answered=%.1fms searchable=%.0fms", float64(took.Microseconds())/1000, float64(found.Microseconds())/1000)

	// What is known, and what is elsewhere, asks for nothing.
	r.want(http.StatusOK, "known")(r.pushed("main", commit))
	r.want(http.StatusOK, "neither")(r.pushed("topic", strings.Repeat("1", 40)))
	r.want(http.StatusOK, "deleted")(r.pushed("main", strings.Repeat("0", 40)))
	r.want(http.StatusOK, `"ok"`)(r.send("ping", "p", `{"zen":"x"}`))

	// The local branch follows: nothing is ahead, the memory is the same file, and the
	// file's own memory comes now.
	path := filepath.Join(r.dir, "fold", filepath.FromSlash(fold.CommitID(r.slug, commit).Path()))
	was := readFile(t, path)
	git(t, r.dir, "pull", "-q", "--ff-only", r.remote, "main")
	r.eventually("the local branch has it", func() bool { return r.ahead() == nil })
	r.settle()
	if readFile(t, path) != was {
		t.Error("the memory of the commit was written anew")
	}
	r.want(http.StatusOK, "here")(r.pushed("main", commit))
}

// commit of main that no test has.
const otherCommit = "2222222222222222222222222222222222222222"

// TestF61WebhooksDoNothingElse sends what a webhook must not do: replays, also after
// a restart, and pushes of our own. None of them makes a round; and what is pushed to
// the branch of the memories comes in by one.
func TestF61WebhooksDoNothingElse(t *testing.T) {
	t.Parallel()
	r := newHookRig(t)
	id := r.addMemory(wire.MemoryCreate{Title: "Own", Content: "Numbats are ours."}).ID
	if _, err := r.d.Sync(r.ctx(), local(), r.slug, r.repo, wire.SyncRequest{}); err != nil {
		t.Fatal(err)
	}
	tip := strings.TrimSpace(git(t, r.remote, "rev-parse", "foldwatch"))
	r.want(http.StatusOK, "known")(r.pushed("foldwatch", tip))

	// Somebody else changes the memory on that branch.
	git(t, r.other, "fetch", "-q", "origin", "foldwatch")
	git(t, r.other, "checkout", "-q", "-b", "foldwatch", "FETCH_HEAD")
	name := fold.ID(id).Path()
	text := strings.Replace(readFile(t, filepath.Join(r.other, name)), "are ours", "are theirs", 1)
	tip = r.push(name, text, "Change it")
	body := fmt.Sprintf(`{"ref":"refs/heads/foldwatch","after":%q}`, tip)
	r.want(http.StatusAccepted, "queued")(r.send("push", "d1", body))
	r.eventually("the change came", func() bool {
		return strings.Contains(readFile(t, filepath.Join(r.dir, "fold", name)), "are theirs")
	})
	r.eventually("that is done", func() bool { return r.ahead() == nil && !strings.Contains(r.log.String(), "Not synced") })

	r.want(http.StatusConflict, "replayed")(r.send("push", "d1", body))
	r.restart()
	r.settle()
	r.listen()
	r.want(http.StatusConflict, "replayed")(r.send("push", "d1", body))
	r.want(http.StatusConflict, "replayed")(r.send("push", "d2", body))

	// Off is off, and looks like no repository at all.
	if err := r.d.RemoveRepository(r.ctx(), local(), r.slug, r.repo); err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusUnauthorized, "unauthenticated")(r.pushed("main", otherCommit))
	if strings.Contains(r.log.String(), hookSecret) {
		t.Error("the secret is in the log")
	}
}

// pullBody is what GitHub sends of a merged pull request.
func pullBody(number int, title, text string) string {
	return fmt.Sprintf(`{"action":"closed","pull_request":{"number":%d,"title":%q,"body":%q,"merged":true,"merged_at":"2026-02-03T10:00:00Z",
		"merge_commit_sha":%q,"user":{"login":"ada"},"base":{"ref":"main"},"head":{"ref":"topic"},"labels":[{"name":"Good first issue"}]},
		"repository":{"full_name":"Zoo/pool","html_url":"https://github.com/Zoo/pool"}}`, number, title, text, otherCommit)
}

// TestMergedRequestBecomesOneMemory tells of merged pull requests: each becomes a
// memory, is not written anew, and does not come back once it was deleted.
func TestMergedRequestBecomesOneMemory(t *testing.T) {
	t.Parallel()
	r := newHookRig(t)
	id := func(n int) fold.ID { return fold.PullID(r.slug, "github.com/zoo/pool", n) }
	path := func(n int) string { return filepath.Join(r.dir, "fold", filepath.FromSlash(id(n).Path())) }
	r.want(http.StatusAccepted, "queued")(r.send("pull_request", "7", pullBody(7, "Feed the quokka", "At noon. [[0/1/0123456789abcdef|x]]")))
	r.want(http.StatusAccepted, "queued")(r.send("pull_request", "8", pullBody(8, "Feed the numbat", "At dawn.")))
	r.eventually("both are found", func() bool {
		return r.finds("quokka", "pr", "Feed the quokka") && r.finds("numbat", "pr", "Feed the numbat")
	})
	m, err := r.d.GetMemory(r.ctx(), local(), r.slug, string(id(7)))
	if err != nil || len(m.Links) != 0 || m.Type != "pr" || m.Source != "git" || m.Author != "ada" || !slices.Equal(m.Tags, []string{"good-first-issue"}) {
		t.Errorf("%+v, %v", m, err)
	}
	was := readFile(t, path(8))
	if _, err := r.d.DeleteMemory(r.ctx(), local(), r.slug, m.ID, ""); err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusAccepted, "queued")(r.send("pull_request", "7b", pullBody(7, "Feed the quokka", "Edited since.")))
	r.want(http.StatusAccepted, "queued")(r.send("pull_request", "8b", pullBody(8, "Feed the numbat", "Edited since.")))
	r.want(http.StatusAccepted, "queued")(r.send("pull_request", "9", pullBody(9, "Feed the bilby", "At dusk.")))
	r.eventually("what came with them is found", func() bool { return r.finds("bilby", "pr", "Feed the bilby") })
	if readFile(t, path(8)) != was {
		t.Error("it was written anew")
	}
	if _, err := os.Lstat(path(7)); err == nil {
		t.Error("it came back")
	}

	// One that was squashed is tied to the memory of the commit it became.
	commit := r.push("squashed.go", "package p\n\n// Wombat is fed.\nfunc Wombat() {}\n", "Feed the wombat (#11)")
	r.want(http.StatusAccepted, "queued")(r.pushed("main", commit))
	r.want(http.StatusAccepted, "queued")(r.send("pull_request", "11", strings.Replace(pullBody(11, "Feed the wombat", "At night."), otherCommit, commit, 1)))
	r.eventually("the request is tied to its commit", func() bool {
		m, err := r.d.GetMemory(r.ctx(), local(), r.slug, string(id(11)))
		return err == nil && len(m.Links) == 1 && m.Links[0].TargetID == string(fold.CommitID(r.slug, commit)) && m.Links[0].Title == "Feed the wombat (#11)" && m.Links[0].Derived
	})
}
