package usergit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// RemoteURL returns the URL of origin, or of the first remote if there is no
// origin, without credentials; "" if the repository has no remote.
func (l *Repo) RemoteURL(ctx context.Context) (string, error) {
	out, err := l.Git("config", "-z", "--local", "--get-regexp", `^remote\..*\.url$`).Output(ctx)
	if err != nil {
		if ExitCode(err) == 1 {
			return "", nil
		}
		return "", fmt.Errorf("read remotes: %w", err)
	}
	first := ""
	for kv := range strings.SplitSeq(string(out), "\x00") {
		k, v, ok := strings.Cut(kv, "\n")
		if !ok || v == "" {
			continue
		}
		if k == "remote.origin.url" {
			return StripCredentials(v), nil
		}
		if first == "" {
			first = v
		}
	}
	return StripCredentials(first), nil
}

// StripCredentials returns a remote's URL without user, password, token or
// query. The user of an ssh URL stays: it is part of the address (F36).
func StripCredentials(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		return remote // a path, or scp's user@host:path
	}
	u, err := url.Parse(remote)
	if err != nil {
		// Not a URL by Go's rules: cut what stands before the last @ of the
		// authority.
		auth, path, _ := strings.Cut(rest, "/")
		auth = auth[strings.LastIndexByte(auth, '@')+1:]
		path, _, _ = strings.Cut(path, "?")
		return scheme + "://" + auth + "/" + path
	}
	if u.User != nil {
		if strings.HasSuffix(u.Scheme, "ssh") {
			u.User = url.User(u.User.Username())
		} else {
			u.User = nil
		}
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, ""
	return u.String()
}

// Identity returns the name and mail address the user commits with, as git's
// configuration gives them, includes followed; empty where it has none. What
// git would guess from login and host name is not used: it would carry the
// host name into history.
func (l *Repo) Identity(ctx context.Context) (name, email string) {
	out, err := l.Git("config", "-z", "--get-regexp", `^(user|author)\.(name|email)$`).Output(ctx)
	if err != nil {
		return "", ""
	}
	got := map[string]string{}
	for kv := range strings.SplitSeq(string(out), "\x00") {
		if k, v, ok := strings.Cut(kv, "\n"); ok {
			got[k] = v
		}
	}
	pick := func(key string) string {
		if v := got["author."+key]; v != "" {
			return v
		}
		return got["user."+key]
	}
	return pick("name"), pick("email")
}

// Remotes returns the address of each remote that the repository's own
// configuration names, without credentials.
func (l *Repo) Remotes(ctx context.Context) (map[string]string, error) {
	out, err := l.Git("config", "-z", "--local", "--get-regexp", `^remote\..*\.url$`).Output(ctx)
	if err != nil {
		if ExitCode(err) == 1 {
			return nil, nil
		}
		return nil, fmt.Errorf("read remotes: %w", err)
	}
	all := map[string]string{}
	for kv := range strings.SplitSeq(string(out), "\x00") {
		k, v, ok := strings.Cut(kv, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(k, "remote."), ".url")
		if _, more := all[name]; ok && v != "" && !more { // git fetches from the first
			all[name] = StripCredentials(v)
		}
	}
	return all, nil
}

// BranchName is the branch of a remote that memories are published on.
const BranchName = "foldwatch"

// FetchedProject returns the project file on the branch foldwatch of a remote, as
// the user's own fetches have brought it: a fresh clone has it. It returns nil if
// there is none.
func (l *Repo) FetchedProject(ctx context.Context) ([]byte, error) {
	best, err := l.FetchedBranch(ctx)
	if err != nil || best == "" {
		return nil, err
	}
	b, err := l.Git("cat-file", "blob", best+":"+fold.ProjectFile).Output(ctx)
	if ExitCode(err) > 0 {
		return nil, nil // the branch is not ours, or has none
	}
	return b, err
}

// FetchedBranch returns the branch foldwatch of a remote as the user's own fetches
// have brought it, that of origin before others; "" if there is none.
func (l *Repo) FetchedBranch(ctx context.Context) (ref string, err error) {
	if !l.mayFetch() {
		return "", nil
	}
	refs, err := l.Git("for-each-ref", "--format=%(refname)", "refs/remotes/*/"+BranchName).Output(ctx)
	if err != nil {
		return "", fmt.Errorf("look for a branch %s: %w", BranchName, err)
	}
	for r := range strings.Lines(string(refs)) {
		r = strings.TrimSpace(r)
		if ref == "" || r == "refs/remotes/origin/"+BranchName {
			ref = r
		}
	}
	return ref, nil
}

// mayFetch reports whether there may be references to branches of a remote: where
// nothing was ever fetched, git need not be asked for them.
func (l *Repo) mayFetch() bool {
	if _, err := os.Lstat(filepath.Join(l.CommonDir, "packed-refs")); !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return l.mayHave("refs/remotes")
}
