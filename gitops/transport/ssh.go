package transport

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// An SSH is how git is to call ssh: as the user's own configuration says, which is read
// once a minute. The zero value works. Safe for concurrent use.
type SSH struct {
	mu   sync.Mutex // guards the fields below
	own  string     // the user's core.sshCommand
	read time.Time
}

// sshAge is for how long the user's setting is not read again.
const sshAge = time.Minute

// command returns how git, run in the repository of ours at dir, is to call ssh for an
// address of that scheme: without a question to anybody.
func (s *SSH) command(ctx context.Context, dir, scheme string) string {
	const quiet = " -oBatchMode=yes -oConnectTimeout=10"
	if scheme == "file" {
		return "ssh" + quiet
	}
	own := s.users(ctx, dir)
	if strings.TrimSpace(own) == "" {
		return "ssh" + quiet + " -oServerAliveInterval=10 -oServerAliveCountMax=3"
	}
	first := strings.Trim(strings.Fields(own)[0], `"'`)
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(filepath.FromSlash(first))), ".exe") {
	case "plink", "tortoiseplink", "putty":
		return own + " -batch"
	}
	return own + quiet
}

// users returns the user's own core.sshCommand. A repository of ours has no such
// setting.
func (s *SSH) users(ctx context.Context, dir string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read.IsZero() && time.Since(s.read) < sshAge {
		return s.own
	}
	own, err := usergit.Call{Dir: dir, GitDir: dir, Args: []string{"config", "--get", "core.sshCommand"}}.Line(ctx)
	if err != nil {
		own = ""
	}
	s.own, s.read = own, time.Now()
	return own
}
