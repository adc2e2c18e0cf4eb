package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// indexWait is how long codebase_index reports progress before it answers with the state
// so far: less than the minute after which clients give up.
const indexWait = 50 * time.Second

type inIndex struct {
	Path    string `json:"path,omitempty"`
	Full    bool   `json:"full,omitempty"`
	History int    `json:"history,omitempty" minimum:"0"`
	inProject
}

type indexing struct {
	JobID    string         `json:"job_id"`
	Project  string         `json:"project"`
	Status   string         `json:"status"`
	Progress *wire.Progress `json:"progress,omitempty"`
}

type uploaded struct {
	Results []wire.UploadResult `json:"results"`
	Omitted int                 `json:"omitted,omitempty"`
}

func indexTools() []tool {
	type inUpload struct {
		Files  []wire.UploadFile `json:"files" minItems:"1"`
		Author string            `json:"author,omitempty"`
		inProject
	}
	return []tool{
		define("codebase_index", "Index source files", adds,
			"Index now, with progress. Saved files are indexed by themselves. history: remember the last N commits, too.",
			codebaseIndex),
		define("files_upload", "Add files as memories", adds,
			"Make memories of text files from outside the checkout. The same name again replaces.",
			func(ctx context.Context, c *call, in inUpload) (uploaded, string, error) {
				slug, err := c.project(ctx, in.Project)
				if err != nil {
					return uploaded{}, "", err
				}
				r, err := c.handlers.Upload(ctx, c.scope, slug, wire.FilesUpload{Files: in.Files, Author: in.Author})
				if err != nil {
					return uploaded{}, "", err
				}
				out, text := fit(len(r.Results), func(_, n int) (uploaded, string) {
					out := uploaded{Results: r.Results[:n:n], Omitted: len(r.Results) - n}
					var b strings.Builder
					for _, f := range out.Results {
						if f.Error != "" {
							fmt.Fprintf(&b, "%s was not stored: %s\n", quote(f.Path), line(f.Error))
						} else {
							fmt.Fprintf(&b, "%s is memory %s\n", quote(f.Path), f.ID)
						}
					}
					return out, b.String() + omitted(out.Omitted)
				})
				return out, text, nil
			}),
	}
}

func codebaseIndex(ctx context.Context, c *call, in inIndex) (indexing, string, error) {
	slug, err := c.indexTarget(ctx, in)
	if err != nil {
		return indexing{}, "", err
	}
	var token any
	if c.request != nil {
		token = c.request.Params.GetProgressToken()
	}
	wait, cancel := context.WithTimeout(ctx, indexWait)
	defer cancel()
	var events <-chan wire.Event
	if token != nil {
		events = c.handlers.Subscribe(wait, c.scope, 0) // earlierStages the job begins: nothing is missed
	}
	ref, err := c.handlers.Reindex(ctx, c.scope, slug, wire.Reindex{Full: in.Full, History: in.History})
	if err != nil {
		return indexing{}, "", err
	}
	job, err := c.handlers.Job(ctx, c.scope, ref.JobID)
	if err != nil {
		return indexing{}, "", err
	}
	base, _, _ := strings.Cut(slug, "@") // events name the project, not one of its checkouts
	for p := (progress{}); token != nil && !ended(job); {
		p.notify(ctx, c, token, job)
		e, ok := <-events
		if !ok {
			break
		}
		if e.Project != "" && e.Project != base || !strings.HasPrefix(e.Type, "job:") && !strings.HasPrefix(e.Type, "indexing:") {
			continue
		}
		if job, err = c.handlers.Job(ctx, c.scope, ref.JobID); err != nil {
			return indexing{}, "", err
		}
	}
	out := indexing{JobID: ref.JobID, Project: slug, Status: job.Status, Progress: job.Progress}
	text := fmt.Sprintf("Job %s of %s is %s.", out.JobID, slug, out.Status)
	if p := job.Progress; p != nil {
		text += " " + sentence(stageText(*p))
	}
	if job.Error != "" {
		text += " " + sentence(line(job.Error))
	}
	if !ended(job) {
		text += " Searches already find what is done; project_get tells how far it is."
	}
	return out, text, nil
}

func ended(j wire.Job) bool {
	return j.Status == "completed" || j.Status == "failed" || j.Status == "cancelled"
}

// progress sums up the stages of a job, each of which counts from 0, into one count that
// only grows, as the protocol demands.
type progress struct {
	stage         string
	earlierStages int // stageDone in earlier stages
	stageDone     int // of the current stage
	reported      float64
	started       bool // something was reported
}

// notify notifies the client of progress, if there is any. The job goes on without the
// client.
func (t *progress) notify(ctx context.Context, c *call, token any, j wire.Job) {
	if p := t.next(j); p != nil {
		p.ProgressToken = token
		_ = c.request.Session.NotifyProgress(ctx, p)
	}
}

// next returns the progress to report, nil if there is none.
func (t *progress) next(j wire.Job) *sdk.ProgressNotificationParams {
	p := &sdk.ProgressNotificationParams{Message: j.Status}
	if j.Progress != nil {
		if j.Progress.Stage != t.stage {
			*t = progress{stage: j.Progress.Stage, earlierStages: t.earlierStages + t.stageDone, reported: t.reported, started: t.started}
		}
		t.stageDone = max(t.stageDone, j.Progress.Done)
		p.Progress, p.Message = float64(t.earlierStages+t.stageDone), stageText(*j.Progress)
		if j.Progress.Total > 0 {
			p.Total = float64(t.earlierStages + max(j.Progress.Total, t.stageDone))
		}
	}
	if t.started && p.Progress <= t.reported {
		return nil
	}
	t.reported, t.started = p.Progress, true
	return p
}

// stageText describes the progress of a stage in one line.
func stageText(p wire.Progress) string {
	text := line(p.Stage)
	if p.Total > 0 {
		text += fmt.Sprintf(": %d of %d", p.Done, p.Total)
	}
	if p.BytesTotal > 0 {
		text += fmt.Sprintf(", %d of %d MB", p.Bytes>>20, p.BytesTotal>>20)
	}
	if p.ETASeconds >= 1 {
		text += fmt.Sprintf(", %s left", time.Duration(p.ETASeconds*float64(time.Second)).Round(time.Second))
	}
	if p.Searchable > 0 && p.Searchable < p.Total {
		text += fmt.Sprintf("; searches find %d so far", p.Searchable)
	}
	return text
}

// indexTarget returns the project that a call means: that of its path. All of it
// is looked at, whatever folder in it the path names: what has not changed costs
// next to nothing.
func (c *call) indexTarget(ctx context.Context, in inIndex) (slug string, err error) {
	if in.Path == "" || !filepath.IsAbs(in.Path) {
		slug, err = c.project(ctx, in.Project)
		if err == nil && !filepath.IsLocal(cmp.Or(in.Path, ".")) {
			err = fmt.Errorf("path %q leads out of the checkout: %w", clip(in.Path, 80), fold.ErrInvalid)
		}
		return slug, err
	}
	slug, err = c.handlers.ProjectOfPath(ctx, c.scope, in.Path)
	if errors.Is(err, fold.ErrNotFound) {
		err = fold.WithHint(fmt.Errorf("path %q is in no registered checkout: %w", clip(in.Path, 80), fold.ErrNotFound), "ask the user to run: foldwatch up "+in.Path)
	}
	if err == nil && in.Project != "" && in.Project != slug {
		err = fmt.Errorf("path %q belongs to project %s, not %s: %w", clip(in.Path, 80), slug, clip(in.Project, 80), fold.ErrInvalid)
	}
	return slug, err
}
