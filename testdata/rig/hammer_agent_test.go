//go:build accept

package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// An agent writes memories of one replica. What it does depends on what it meets; its
// errors while the daemon is away are its own.
type agent struct {
	r   *replica
	l   *ledger
	rnd *rand.Rand
	by  surface // nil for a person, who edits files
}

// A surface is one of the ways by which an agent writes memories.
type surface interface {
	add(ctx context.Context, title, text string) (id string, err error)
	append(ctx context.Context, id, text string) error
	remove(ctx context.Context, id string) error
}

// newAgent is the n-th agent of a run; they take the surfaces in turn.
func newAgent(r *replica, l *ledger, seed uint64, n int) *agent {
	a := &agent{r: r, l: l, rnd: rand.New(rand.NewPCG(seed, uint64(100+n)))}
	switch n % 3 {
	case 0:
		a.by = overREST{r.m}
	case 1:
		a.by = overMCP{r.m}
	default:
		a.by = overCommands{r}
	}
	return a
}

// newEditor is the person at a replica who edits memories in an editor.
func newEditor(r *replica, l *ledger, seed uint64) *agent {
	return &agent{r: r, l: l, rnd: rand.New(rand.NewPCG(seed, uint64(1000+r.n)))}
}

// work acts until ctx ends.
func (a *agent) work(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(10+a.rnd.IntN(120)) * time.Millisecond): // agents think
		}
		a.act(ctx)
	}
}

// act does one thing.
func (a *agent) act(ctx context.Context) {
	k := a.rnd.IntN(20)
	switch {
	case a.by == nil && k < 5:
		a.addFile()
	case a.by == nil && k < 18:
		a.editFile(a.l.pick(a.rnd, a.r, fateHand, fateContested))
	case k < 7:
		a.add(ctx, []string{fatePlain, fatePlain, fateDoomed, fateContested, fateHand}[a.rnd.IntN(5)])
	case k < 15:
		a.append(ctx, a.l.pick(a.rnd, a.r, fatePlain, fateContested, fateHand))
	case k < 18:
		a.remove(ctx, a.l.pick(a.rnd, a.r, fateDoomed, fateDoomed, fateContested))
	case k < 19 || !a.r.syncs:
		_, err := client.New(a.r.m.socket()).Search(ctx, slug, wire.SearchRequest{Query: "line " + a.l.token(), Limit: 3})
		a.l.note("search", "", a.r, err, func() {})
	default:
		out, err := a.r.sync(ctx)
		if err != nil {
			err = errors.New(firstLine(out))
		}
		a.l.note("sync", "", a.r, err, func() {})
	}
}

func (a *agent) add(ctx context.Context, fate string) {
	token := a.l.token()
	id, err := a.by.add(ctx, fate+" "+token, "It began with "+token+".\n\n- one item\n")
	a.l.note("add", id, a.r, err, func() { a.l.made(id, fate, word{token: token, by: a.r.n}) })
}

func (a *agent) append(ctx context.Context, id string) {
	if id == "" {
		return
	}
	token := a.l.token()
	err := a.by.append(ctx, id, "- then came "+token+"\n")
	a.l.note("append", id, a.r, err, func() { a.l.wrote(word{token: token, id: id, by: a.r.n}) })
}

func (a *agent) remove(ctx context.Context, id string) {
	if id == "" {
		return
	}
	a.l.removing(id, a.r.n)
	err := a.by.remove(ctx, id)
	a.l.note("delete", id, a.r, err, func() { a.l.deleted(id, a.r.n) })
}

// addFile makes a memory as a person does who copies another file.
func (a *agent) addFile() {
	token := a.l.token()
	at := time.Now().UTC().Truncate(time.Second)
	m := fold.Memory{
		ID: fold.SlugID(slug, token), Title: fateHand + " " + token, Type: "general", Source: fold.SourceAgent,
		CreatedAt: at, UpdatedAt: at, Body: "It began with " + token + ".\n\n- one item\n",
	}
	id := string(m.ID)
	path := memoryFile(a.r.dir, id)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, fold.Encode(&m, nil), 0o600)
	}
	a.l.note("add by hand", id, a.r, err, func() { a.l.made(id, fateHand, word{token: token, by: a.r.n, weak: true}) })
}

// editFile rewrites a memory as editors do: read, change a line, write in place.
func (a *agent) editFile(id string) {
	if id == "" {
		return
	}
	path := memoryFile(a.r.dir, id)
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	token := a.l.token()
	text := strings.Replace(string(b), "- one item\n", "- one item, and by hand "+token+"\n- one item\n", 1)
	if text == string(b) {
		return
	}
	err = os.WriteFile(path, []byte(text), 0o600)
	a.l.note("edit by hand", id, a.r, err, func() { a.l.wrote(word{token: token, id: id, by: a.r.n, weak: true}) })
}

type overREST struct{ m *machine }

func (s overREST) add(ctx context.Context, title, text string) (string, error) {
	reply, err := client.New(s.m.socket()).AddMemory(ctx, slug, wire.MemoryCreate{Title: title, Content: text})
	return reply.ID, err
}

func (s overREST) append(ctx context.Context, id, text string) error {
	_, err := client.New(s.m.socket()).UpdateMemory(ctx, slug, id, wire.MemoryUpdate{Append: text})
	return err
}

func (s overREST) remove(ctx context.Context, id string) error {
	_, err := client.New(s.m.socket()).DeleteMemory(ctx, slug, id, "")
	return err
}

type overMCP struct{ m *machine }

func (s overMCP) add(ctx context.Context, title, text string) (string, error) {
	reply, err := s.call(ctx, "memory_add", map[string]string{"title": title, "content": text})
	return reply.ID, err
}

func (s overMCP) append(ctx context.Context, id, text string) error {
	_, err := s.call(ctx, "memory_update", map[string]string{"id": id, "append": text})
	return err
}

func (s overMCP) remove(ctx context.Context, id string) error {
	_, err := s.call(ctx, "memory_delete", map[string]string{"id": id})
	return err
}

// call calls a tool of the daemon.
func (s overMCP) call(ctx context.Context, tool string, args map[string]string) (reply wire.WriteReply, err error) {
	args["project"] = slug
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": struct{}{},
			"io.modelcontextprotocol/clientInfo": map[string]string{"name": "rig", "version": "1"},
		},
	}})
	if err != nil {
		return reply, err
	}
	req, err := toolRequest(ctx, tool, string(body))
	if err != nil {
		return reply, err
	}
	c := caller(s.m.socket())
	defer c.CloseIdleConnections()
	res, err := c.Do(req)
	if err != nil {
		return reply, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return reply, err
	}
	var answer struct {
		Result struct {
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent wire.WriteReply
		}
		Error struct{ Message string }
	}
	// The answer is JSON, or one event that holds it.
	_, event, streamed := bytes.Cut(b, []byte("data: "))
	if streamed {
		b = event
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&answer); err != nil {
		return reply, fmt.Errorf("answer to %s: %w", tool, err)
	}
	switch {
	case res.StatusCode != http.StatusOK || answer.Error.Message != "":
		return reply, fmt.Errorf("%s: %d %s", tool, res.StatusCode, answer.Error.Message)
	case answer.Result.IsError:
		return reply, errors.New(firstLine(answer.Result.Content[0].Text))
	}
	return answer.Result.StructuredContent, nil
}

// overCommands writes as an agent in a shell does: new memories in the linked work tree,
// while there is one.
type overCommands struct{ r *replica }

func (s overCommands) run(ctx context.Context, dir string, more []string, args ...string) ([]byte, error) {
	c := s.r.m.command(dir, append(args, "--no-input")...)
	bound := exec.CommandContext(ctx, c.Path, c.Args[1:]...)
	bound.Dir, bound.Env = c.Dir, append(c.Env, more...)
	var says bytes.Buffer
	bound.Stderr = &says
	out, err := bound.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, firstLine(says.String()))
	}
	return out, nil
}

func (s overCommands) add(ctx context.Context, title, text string) (string, error) {
	trees := s.r.trees()
	out, err := s.run(ctx, trees[len(trees)-1], nil, "memory", "add", text, "--title", title, "--json")
	if err != nil {
		return "", err
	}
	var reply wire.WriteReply
	err = json.Unmarshal(out, &reply)
	return reply.ID, err
}

func (s overCommands) append(ctx context.Context, id, text string) error {
	_, err := s.run(ctx, s.r.dir, []string{"EDITOR=sh " + s.appender(), "APPEND=" + text}, "memory", "edit", id)
	return err
}

func (s overCommands) remove(ctx context.Context, id string) error {
	_, err := s.run(ctx, s.r.dir, nil, "memory", "rm", id)
	return err
}

// appender is an editor that appends $APPEND.
func (s overCommands) appender() string {
	path := filepath.Join(s.r.m.home, "append.sh")
	s.r.m.write(path, "printf '\\n%s' \"$APPEND\" >> \"$1\"\n")
	return path
}
