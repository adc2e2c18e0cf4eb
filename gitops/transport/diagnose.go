package transport

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/shown"
)

// pushRejected reads the porcelain output of a push and returns why the branch ref
// was not moved, or nil if it does not say that.
func pushRejected(host, ref string, r ran) error {
	for line := range strings.Lines(r.stdout) {
		f := strings.SplitN(strings.TrimRight(line, "\r\n"), "\t", 3)
		if len(f) != 3 || !strings.HasSuffix(f[1], ":"+ref) || f[0] != "!" {
			continue
		}
		return rejection(host, f[2], r.stderr)
	}
	return nil
}

// later compiles an expression when it is first needed, once: each command is this
// program too, and most sync nothing.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// lostRace matches what git says where the branch was not what we took it for.
var lostRace = later(`(?i)stale info|fetch first|non-fast-forward|needs force|cannot lock ref|failed to lock|failed to update ref|incorrect old value|reference already exists|is at .* but expected`)

// rejection makes the error of one line "[rejected] (why)".
func rejection(host, summary, stderr string) error {
	switch {
	case lostRace().MatchString(summary):
		return Errorf(Lost, host, "", "somebody else pushed")
	case strings.Contains(summary, "[remote failure]"):
		return Errorf(Offline, host, "", "the push broke off: %s", shown.OneLine(summary))
	}
	why := shown.OneLine(summary)
	if said := remoteSays(stderr); said != "" {
		why += ": " + said
	}
	return Errorf(Policy, host, "", "the remote rejected the push: %s", why)
}

// remoteSays returns the first lines that the remote itself printed.
func remoteSays(stderr string) string {
	var said []string
	for line := range strings.Lines(stderr) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "remote:")
		if text = shown.OneLine(text); ok && text != "" && len(said) < 3 {
			said = append(said, text)
		}
	}
	return strings.Join(said, " / ")
}

// A sign is what a transport prints in one kind of trouble. The order of signs
// counts: what says more comes first.
type sign struct {
	kind Kind
	says func() *regexp.Regexp
}

var signs = []sign{
	{Untrusted, later(`(?i)host key verification failed|remote host identification has changed|ssl certificate problem|server certificate verification failed|certificate verify|certificate subject name|SSL: no alternative|unable to get local issuer|self.signed certificate|error setting certificate|x509: |knownhosts: |failed to verify certificate`)},
	{Refused, later(`(?i)transport '[^']*' not allowed|unable to update url base from redirection|fsck error|invalid (?:index-pack|unpack-objects)|index-pack failed|unpack-objects failed|invalid refspec|protocol error: bad|dubious ownership|object of unexpected type`)},
	{Missing, later(`(?i)repository '?[^']*'? ?not found|error: 404|does not appear to be a git repository|no such file or directory|does not exist|repository not found|project you were looking for could not be found`)},
	{Auth, later(`(?i)authentication failed|could not read (?:username|password)|terminal prompts disabled|error: 40[13]|permission denied|access denied|permission to .* denied|not authorized|authorization failed|write access|invalid (?:username|credentials)|no supported authentication|too many authentication failures|unable to authenticate|authentication required`)},
	{Limited, later(`(?i)error: (?:429|503)|rate limit|too many requests`)},
}

// otherNames matches what git and go-git say of a remote that names objects by another
// hash than repo.git, which is always SHA-1.
var otherNames = later(`(?i)mismatched algorithms|does not support this repository's hash algorithm|no space after hash|malformed zero-id ref`)

// errOtherNames says so.
func errOtherNames(host string) error {
	return Errorf(Refused, host, "keep memories on the branch you work on, which goes with the rest of the repository: foldwatch track; "+
		"or share them by another remote: git init --bare there, then: foldwatch sync on --remote ADDRESS",
		"the remote names objects by SHA-256, and the branch foldwatch is kept in SHA-1")
}

// transferError finds out from what a run said what went wrong. What is not
// known is taken for a failure of the network, which is tried again.
func transferError(host string, r ran) error {
	text := r.stderr
	if r.http.status >= 300 && r.http.status < 400 {
		return redirected(host, r.http.location)
	}
	what := firstLine(text)
	if what == "" && r.err != nil {
		what = shown.OneLine(usergit.Redact(r.err.Error()))
	}
	switch {
	case r.http.status == http.StatusTooManyRequests, r.http.status == http.StatusServiceUnavailable:
		e := Errorf(Limited, host, "", "the remote asks us to wait (%d)", r.http.status)
		e.RetryAfter = retryAfter(r.http.retryAfter, time.Now())
		return e
	case strings.Contains(text, "error: 301"), strings.Contains(text, "error: 302"), strings.Contains(text, "error: 307"), strings.Contains(text, "error: 308"):
		return redirected(host, "")
	}
	if otherNames().MatchString(text) {
		return errOtherNames(host)
	}
	for _, s := range signs {
		if s.says().MatchString(text) {
			return Errorf(s.kind, host, "", "%s", what)
		}
	}
	return Errorf(Offline, host, "", "%s", what)
}

// redirected refuses to follow: credentials could go to a host that the user
// never named (F37).
func redirected(host, location string) error {
	to := "another address"
	if u, err := url.Parse(location); err == nil && u.Host != "" {
		to = usergit.StripCredentials(u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/info/refs"))
	}
	return Errorf(Refused, host, "if that is where it lies now, register that address: foldwatch sync on --remote URL",
		"the remote redirects to %s, which is not followed", shown.OneLine(to))
}

// retryAfter reads a Retry-After header: seconds, or a date. A day is the most.
func retryAfter(v string, now time.Time) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(v); err == nil {
		d = time.Duration(min(max(n, 0), 1<<20)) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), 24*time.Hour)
}

// firstLine returns the line of an error output that says most: that of the
// remote or of ssh before git's own last word.
func firstLine(stderr string) string {
	first, fatal := "", ""
	for line := range strings.Lines(stderr) {
		line = shown.OneLine(line)
		low := strings.ToLower(line)
		switch {
		case line == "", strings.HasPrefix(low, "warning:"), strings.HasPrefix(low, "hint:"):
		case strings.HasPrefix(low, "fatal:"), strings.HasPrefix(low, "error:"):
			if fatal == "" {
				fatal = strings.TrimSpace(line[6:])
			}
		case first == "":
			first = line
		}
	}
	switch {
	case fatal == "":
		return first
	case first == "" || strings.HasPrefix(first, "remote: Counting"):
		return fatal
	case strings.HasPrefix(fatal, "Could not read from remote repository"), strings.HasPrefix(fatal, "the remote end hung up"):
		return strings.TrimSpace(strings.TrimPrefix(first, "remote:"))
	}
	return fatal
}
