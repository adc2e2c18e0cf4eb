package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The fields of the forges' bodies that are used. Only names are taken from URLs, which
// are never opened.
type (
	gitHubRepository struct {
		FullName string `json:"full_name"`
		HTMLURL  string `json:"html_url"`
	}
	gitHubPush struct {
		Ref   string `json:"ref"`
		After string `json:"after"`
	}
	gitHubPull struct {
		Action string `json:"action"`
		Pull   struct {
			Number   int        `json:"number"`
			Title    string     `json:"title"`
			Body     string     `json:"body"`
			Merged   bool       `json:"merged"`
			MergedAt *time.Time `json:"merged_at"`
			Commit   string     `json:"merge_commit_sha"`
			User     struct {
				Login string `json:"login"`
			} `json:"user"`
			Base struct {
				Ref string `json:"ref"`
			} `json:"base"`
			Head struct {
				Ref string `json:"ref"`
			} `json:"head"`
			Labels []struct {
				Name string `json:"name"`
			} `json:"labels"`
		} `json:"pull_request"`
		Repository gitHubRepository `json:"repository"`
	}

	gitLabPush struct {
		Ref   string `json:"ref"`
		After string `json:"after"`
	}
	gitLabMerge struct {
		User struct {
			ID       int64  `json:"id"`
			Username string `json:"username"`
		} `json:"user"`
		Project struct {
			Path   string `json:"path_with_namespace"`
			WebURL string `json:"web_url"`
		} `json:"project"`
		Labels []struct {
			Title string `json:"title"`
		} `json:"labels"`
		Of struct {
			Number     int    `json:"iid"`
			Title      string `json:"title"`
			Text       string `json:"description"`
			Action     string `json:"action"`
			State      string `json:"state"`
			From       string `json:"source_branch"`
			Onto       string `json:"target_branch"`
			Commit     string `json:"merge_commit_sha"`
			MergedAt   string `json:"merged_at"`
			UpdatedAt  string `json:"updated_at"`
			AuthorID   int64  `json:"author_id"`
			LastCommit struct {
				Author struct {
					Name string `json:"name"`
				} `json:"author"`
			} `json:"last_commit"`
		} `json:"object_attributes"`
	}
)

// readGitHub parses a body of GitHub. An empty Event is one that does not matter; the
// reply then says why. It returns ErrInvalid for other bodies.
func readGitHub(h http.Header, body []byte) (d wire.Delivery, no wire.DeliveryReply, err error) {
	switch event := once(h, "X-Github-Event"); event {
	case "ping":
		return d, wire.DeliveryReply{Status: "ok"}, nil
	case "push":
		var in gitHubPush
		if err := decode(body, &in); err != nil {
			return d, no, err
		}
		return pushed(in.Ref, in.After)
	case "pull_request":
		var in gitHubPull
		if err := decode(body, &in); err != nil {
			return d, no, err
		}
		p := &in.Pull
		if in.Action != "closed" || !p.Merged || p.MergedAt == nil {
			return d, ignored("no pull request was merged"), nil
		}
		m := &wire.MergeRequest{
			Forge: "github", Host: hostOf(in.Repository.HTMLURL), Repo: in.Repository.FullName, Number: p.Number, Title: p.Title, Text: p.Body,
			Author: p.User.Login, From: p.Head.Ref, Onto: p.Base.Ref, Commit: p.Commit, At: p.MergedAt.UTC(),
		}
		for _, l := range p.Labels {
			m.Labels = append(m.Labels, l.Name)
		}
		return merged(m)
	default:
		return d, ignored("events of this kind do nothing here"), nil
	}
}

// readGitLab is readGitHub for bodies of GitLab.
func readGitLab(h http.Header, body []byte) (d wire.Delivery, no wire.DeliveryReply, err error) {
	switch event := once(h, "X-Gitlab-Event"); event {
	case "Push Hook", "Tag Push Hook":
		var in gitLabPush
		if err := decode(body, &in); err != nil {
			return d, no, err
		}
		return pushed(in.Ref, in.After)
	case "Merge Request Hook":
		var in gitLabMerge
		if err := decode(body, &in); err != nil {
			return d, no, err
		}
		o := &in.Of
		if o.Action != "merge" || o.State != "merged" {
			return d, ignored("no merge request was merged"), nil
		}
		at, err := gitLabTime(o.MergedAt)
		if err != nil {
			at, err = gitLabTime(o.UpdatedAt)
		}
		if err != nil {
			return d, no, err
		}
		m := &wire.MergeRequest{
			Forge: "gitlab", Host: hostOf(in.Project.WebURL), Repo: in.Project.Path, Number: o.Number, Title: o.Title, Text: o.Text,
			Author: o.LastCommit.Author.Name, From: o.From, Onto: o.Onto, Commit: o.Commit, At: at,
		}
		if in.User.ID == o.AuthorID && in.User.Username != "" {
			m.Author = in.User.Username
		}
		for _, l := range in.Labels {
			m.Labels = append(m.Labels, l.Title)
		}
		return merged(m)
	default:
		return d, ignored("events of this kind do nothing here"), nil
	}
}

// gitLabTime parses a time in either of the formats that GitLab has sent.
func gitLabTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse("2006-01-02 15:04:05 MST", s)
	}
	if err != nil {
		return t, fmt.Errorf("time %.40q: %w", s, fold.ErrInvalid)
	}
	return t.UTC(), nil
}

func ignored(why string) wire.DeliveryReply {
	return wire.DeliveryReply{Status: "ignored", Reason: why}
}

// decode parses JSON. It returns ErrInvalid without quoting the body.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the body is not what such an event has: %w", fold.ErrInvalid)
	}
	return nil
}

// pushed returns the event of a push to a branch or tag.
func pushed(ref, after string) (d wire.Delivery, no wire.DeliveryReply, err error) {
	d = wire.Delivery{Event: wire.EventPush, Ref: ref, After: after}
	switch {
	case len(ref) > 512 || !isOid(after):
		return wire.Delivery{}, no, fmt.Errorf("a push without branch or commit: %w", fold.ErrInvalid)
	case strings.Trim(after, "0") == "":
		return wire.Delivery{}, ignored("it was deleted"), nil
	case strings.HasPrefix(ref, "refs/tags/"):
		d.Event = wire.EventTag
	case !strings.HasPrefix(ref, "refs/heads/"):
		return wire.Delivery{}, ignored("it is neither a branch nor a tag"), nil
	}
	return d, no, nil
}

// merged checks a merge that may become a memory.
func merged(m *wire.MergeRequest) (d wire.Delivery, no wire.DeliveryReply, err error) {
	m.Repo, m.Title = strings.ToLower(m.Repo), strings.TrimSpace(m.Title)
	if m.Commit != "" && !isOid(m.Commit) || m.Number <= 0 || m.Title == "" || m.Host == "" || !isRepo(m.Repo) || m.At.Year() < 1990 || m.At.Year() > 9999 {
		return d, no, fmt.Errorf("a merged request without number, title, repository or time: %w", fold.ErrInvalid)
	}
	return wire.Delivery{Event: wire.EventMerged, Ref: "refs/heads/" + m.Onto, Merged: m}, no, nil
}

// isOid reports whether s is an object id.
func isOid(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isRepo reports whether s is owner/name; groups may come between.
func isRepo(s string) bool {
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if strings.Trim(p, ".") == "" || strings.Trim(p, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			return false
		}
	}
	return len(parts) > 1 && len(s) <= 512
}

// hostOf returns the host of a URL with its port; "" if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || len(u.Host) > 255 || strings.ContainsAny(u.Host, " /#@") {
		return ""
	}
	return strings.ToLower(u.Host)
}
