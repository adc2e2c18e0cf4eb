//go:build !linux

package gitops

import (
	"os"
	"path/filepath"
	"time"
)

// editing is for how long a commit message that somebody began counts as being
// written.
const editing = time.Hour

// A processScan tells whether a git program may be at work in a repository. Without
// /proc it goes by what an open commit editor leaves: a message that is younger
// than the last commit.
type processScan struct{ l *Layout }

func newProcessScan(l *Layout) *processScan { return &processScan{l} }

// git returns what may be at work, as a word for status, or "" (git.md B2).
func (p *processScan) git() string {
	message, err := os.Stat(filepath.Join(p.l.GitDir, "COMMIT_EDITMSG"))
	if err != nil || time.Since(message.ModTime()) > editing {
		return ""
	}
	log, err := os.Stat(filepath.Join(p.l.GitDir, "logs", "HEAD"))
	if err == nil && !message.ModTime().After(log.ModTime()) {
		return ""
	}
	return "a commit message is being written"
}
