package transport

import (
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// An address is where a remote lies, checked and without credentials.
type address struct {
	url    string // as git is given it
	scheme string // https, http, ssh or file
	host   string // for messages and for comparing; "" for a path
	allow  string // the value of GIT_ALLOW_PROTOCOL
}

// parseAddress checks a remote's address (G15). Only https, ssh and, as the user
// registered them on this machine, paths and plain http: no other protocol of
// git and none of its helpers, which can run programs.
func parseAddress(opt Options) (address, error) {
	remote := strings.TrimSpace(opt.Address)
	refuse := func(hint, format string, args ...any) (address, error) {
		return address{}, Errorf(Refused, "", hint, format, args...)
	}
	switch {
	case remote == "":
		return refuse("name one: foldwatch sync on --remote URL", "no remote is registered")
	case remote[0] == '-', strings.ContainsFunc(remote, isControl), len(remote) > 2000:
		return refuse("", "%.80q is no address of a remote", remote)
	}
	remote = usergit.StripCredentials(remote)
	scheme, rest, isURL := strings.Cut(remote, "://")
	if !isURL {
		return scpOrPath(remote, opt)
	}
	scheme = strings.ToLower(scheme)
	if scheme == "file" {
		host, _, _ := strings.Cut(rest, "/")
		if host != "" && host != "localhost" {
			return refuse("mount it and name its path", "%.80q names another machine", remote)
		}
		if !opt.Local {
			return refuse("register it on this machine by its path: foldwatch sync on --remote PATH", "%.80q is a path of this machine", remote)
		}
		return address{url: remote, scheme: "file", allow: "file"}, nil
	}
	u, err := url.Parse(remote)
	if err != nil || u.Hostname() == "" || u.Hostname()[0] == '-' {
		return refuse("", "%.80q is no address of a remote", remote)
	}
	a := address{url: remote, scheme: scheme, host: u.Host, allow: "https:ssh"}
	switch scheme {
	case "https", "ssh":
	case "git+ssh", "ssh+git":
		a.scheme = "ssh"
	case "http":
		if !opt.PlainHTTP && !isLoopback(u.Hostname()) {
			return refuse("use its https address", "%.80q is not encrypted", remote)
		}
		a.allow = "http:https:ssh"
	default:
		return refuse("use its https or ssh address", "the protocol %.20q is not one of https and ssh", scheme)
	}
	return a, nil
}

// scpOrPath is parseAddress for what is no URL: user@host:path, or a path.
func scpOrPath(remote string, opt Options) (address, error) {
	if host, path, ok := strings.Cut(remote, ":"); ok && !strings.Contains(host, "/") && !isWindowsDrive(remote) {
		if strings.HasPrefix(path, ":") {
			return address{}, Errorf(Refused, "", "use its https or ssh address", "%.80q names a helper program of git", remote)
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
		if host == "" || host[0] == '-' || path == "" || strings.Contains(host, "\\") {
			return address{}, Errorf(Refused, "", "", "%.80q is no address of a remote", remote)
		}
		return address{url: remote, scheme: "ssh", host: host, allow: "https:ssh"}, nil
	}
	if !opt.Local {
		return address{}, Errorf(Refused, "", "register it on this machine by its path: foldwatch sync on --remote PATH",
			"%.80q is a path of this machine", remote)
	}
	path := filepath.FromSlash(remote)
	if !filepath.IsAbs(path) {
		path = filepath.Join(opt.Base, path)
	}
	return address{url: path, scheme: "file", allow: "file"}, nil
}

func isWindowsDrive(s string) bool {
	return runtime.GOOS == "windows" && len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
