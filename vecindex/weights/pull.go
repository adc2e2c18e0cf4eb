package weights

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's name of a file that is not in LFS
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// RecordFile is the file of a model folder that says where it came from.
const RecordFile = "foldwatch.json"

// A Record is what is remembered of a model that was fetched: which files, and
// their checksums. Nobody vouches for the first fetch but the host itself; every
// later one must give the same.
type Record struct {
	Name      string            `json:"name"`
	From      string            `json:"from"`
	Repo      string            `json:"repo"`
	Revision  string            `json:"revision"` // commit of the repository
	Licence   string            `json:"licence"`
	Files     map[string]string `json:"files"` // SHA-256 in hex, by name
	PulledAt  time.Time         `json:"pulled_at"`
	MSPerText float64           `json:"ms_per_text,omitempty"` // measured on this machine
}

// ReadRecord returns the record of a model folder. It returns ErrNotFound if it
// has none.
func ReadRecord(dir string) (Record, error) {
	var r Record
	b, err := os.ReadFile(filepath.Join(dir, RecordFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, fmt.Errorf("model folder %s has no record: %w", dir, fold.ErrNotFound)
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s of %s: %w", RecordFile, dir, fold.ErrInvalid)
	}
	return r, nil
}

// WriteRecord stores the record of a model folder.
func WriteRecord(dir string, r Record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, RecordFile), append(b, '\n'), 0o600)
}

// PullOptions say what is fetched, and where to.
type PullOptions struct {
	Model  Listed
	From   string // "" is Host
	Dir    string // folder that holds models; the model gets one of its name
	Update bool   // take what the host has now, not what was recorded
	// Progress, if not nil, is told how many bytes of all have come.
	Progress func(done, total int64)
	Client   *http.Client // of tests; its redirects are not followed by themselves
	Now      func() time.Time
}

// A blob is one file as the host describes it.
type blob struct {
	Name   string `json:"rfilename"`
	Size   int64  `json:"size"`
	BlobID string `json:"blobId"` // git's name: SHA-1 of a header and the bytes
	LFS    *struct {
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	} `json:"lfs"`
}

// Pull fetches a model into a folder of its own. Each file is compared with the
// checksum that the host's index gives for it and, if the model was fetched before,
// with the recorded one. Nothing is in the folder before all of it is right. It
// returns ErrInvalid for a checksum that differs and ErrUnavailable where the host
// does not answer.
func Pull(ctx context.Context, opt PullOptions) (Record, error) {
	if opt.From == "" {
		opt.From = Host
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	base, err := url.Parse(strings.TrimSuffix(opt.From, "/"))
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && !loopback(base) {
		return Record{}, fmt.Errorf("pull from %q: not an address of https: %w", opt.From, fold.ErrInvalid)
	}
	p := &puller{opt: opt, base: base, client: &http.Client{Timeout: time.Hour}}
	if opt.Client != nil {
		p.client = opt.Client
	}
	p.client.CheckRedirect = p.redirect
	dir := filepath.Join(opt.Dir, opt.Model.Name)
	known, err := ReadRecord(dir)
	if err != nil && !errors.Is(err, fold.ErrNotFound) {
		return Record{}, err
	}
	if opt.Update {
		known = Record{}
	}
	rec, err := p.pull(ctx, dir, known)
	if err != nil {
		return rec, fmt.Errorf("pull %s from %s: %w", opt.Model.Name, base.Host, err)
	}
	return rec, nil
}

func loopback(u *url.URL) bool {
	h := u.Hostname()
	return h == "localhost" || h == "127.0.0.1" || h == "::1"
}

type puller struct {
	opt    PullOptions
	base   *url.URL
	client *http.Client
	done   int64
	total  int64
}

// redirect follows the host to where it keeps large files: nothing secret is
// sent, and what comes is compared with its checksum.
func (p *puller) redirect(req *http.Request, via []*http.Request) error {
	host := req.URL.Hostname()
	own := req.URL.Host == p.base.Host && req.URL.Scheme == p.base.Scheme
	theirs := req.URL.Scheme == "https" && (host == "huggingface.co" || strings.HasSuffix(host, ".huggingface.co") || strings.HasSuffix(host, ".hf.co"))
	if !own && !theirs || len(via) > 5 {
		return fmt.Errorf("it redirects to %s, which is not followed: %w", host, fold.ErrInvalid)
	}
	return nil
}

func (p *puller) pull(ctx context.Context, dir string, known Record) (Record, error) {
	m := p.opt.Model
	index := p.base.JoinPath("api", "models", m.Repo)
	if known.Revision != "" {
		index = index.JoinPath("revision", known.Revision)
	}
	index.RawQuery = "blobs=true"
	var repo struct {
		SHA      string `json:"sha"`
		Siblings []blob `json:"siblings"`
	}
	b, err := p.small(ctx, index.String())
	if err != nil {
		return Record{}, err
	}
	if json.Unmarshal(b, &repo) != nil || !isHex(repo.SHA, 40) {
		return Record{}, fmt.Errorf("its index of %s is not what it should be: %w", m.Repo, fold.ErrInvalid)
	}
	if known.Revision != "" && repo.SHA != known.Revision {
		return Record{}, fmt.Errorf("it gives commit %.12s for %.12s: %w", repo.SHA, known.Revision, fold.ErrInvalid)
	}
	var files []blob
	for _, name := range slices.Concat(m.Files, m.Optional) {
		i := slices.IndexFunc(repo.Siblings, func(b blob) bool { return b.Name == name })
		if i < 0 {
			if slices.Contains(m.Files, name) {
				return Record{}, fmt.Errorf("it has no %s: %w", name, fold.ErrNotFound)
			}
			continue
		}
		f := repo.Siblings[i]
		if f.LFS != nil {
			f.Size = f.LFS.Size
		}
		if f.Size <= 0 || f.Size > MaxFile {
			return Record{}, fmt.Errorf("it says that %s has %d bytes: %w", name, f.Size, fold.ErrInvalid)
		}
		p.total += f.Size
		files = append(files, f)
	}
	if err := os.MkdirAll(p.opt.Dir, 0o700); err != nil {
		return Record{}, err
	}
	part, err := os.MkdirTemp(p.opt.Dir, "."+m.Name+"-")
	if err != nil {
		return Record{}, err
	}
	defer os.RemoveAll(part) // gone already if all went well
	rec := Record{Name: m.Name, From: p.base.String(), Repo: m.Repo, Revision: repo.SHA, Licence: m.Licence, Files: map[string]string{}, PulledAt: p.opt.Now().UTC()}
	for _, f := range files {
		sum, err := p.file(ctx, part, repo.SHA, f)
		if err != nil {
			return rec, err
		}
		if was, ok := known.Files[f.Name]; ok && was != sum {
			return rec, fold.WithHint(fmt.Errorf("%s has SHA-256 %.12s…, %.12s… was recorded when it was fetched first: %w", f.Name, sum, was, fold.ErrInvalid),
				"if you trust the host more than what you have: foldwatch model pull --update "+m.Name)
		}
		rec.Files[f.Name] = sum
	}
	if err := WriteRecord(part, rec); err != nil {
		return rec, err
	}
	return rec, replace(part, dir)
}

// replace puts a folder in the place of another, which may not be there.
func replace(part, dir string) error {
	old := part + "-old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.RemoveAll(old)
}

// file fetches one file and returns its SHA-256.
func (p *puller) file(ctx context.Context, dir, revision string, f blob) (string, error) {
	at := p.base.JoinPath(p.opt.Model.Repo, "resolve", revision, f.Name)
	body, err := p.get(ctx, at.String())
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	defer body.Close()
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer out.Close()
	sum, git := sha256.New(), sha1.New() //nolint:gosec // see above
	fmt.Fprintf(git, "blob %d\x00", f.Size)
	n, err := io.Copy(io.MultiWriter(out, sum, git, p), io.LimitReader(body, f.Size+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s after %d bytes: %w: %w", f.Name, n, fold.ErrUnavailable, err)
	case n != f.Size:
		return "", fmt.Errorf("%s has other than the %d bytes it should have: %w", f.Name, f.Size, fold.ErrInvalid)
	}
	got := hex.EncodeToString(sum.Sum(nil))
	switch {
	case f.LFS != nil && isHex(f.LFS.SHA256, 64):
		if got != f.LFS.SHA256 {
			return "", fmt.Errorf("%s has SHA-256 %s, it should have %s: %w", f.Name, got, f.LFS.SHA256, fold.ErrInvalid)
		}
	case isHex(f.BlobID, 40):
		if id := hex.EncodeToString(git.Sum(nil)); id != f.BlobID {
			return "", fmt.Errorf("%s is git blob %s, it should be %s: %w", f.Name, id, f.BlobID, fold.ErrInvalid)
		}
	default:
		return "", fmt.Errorf("%s comes without a checksum: %w", f.Name, fold.ErrInvalid)
	}
	return got, errors.Join(out.Sync(), out.Close())
}

// Write counts what has come.
func (p *puller) Write(b []byte) (int, error) {
	p.done += int64(len(b))
	if p.opt.Progress != nil {
		p.opt.Progress(p.done, p.total)
	}
	return len(b), nil
}

func (p *puller) get(ctx context.Context, at string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "foldwatch")
	resp, err := p.client.Do(req)
	if err != nil {
		if errors.Is(err, fold.ErrInvalid) {
			return nil, err
		}
		return nil, fold.WithHint(fmt.Errorf("it does not answer: %w: %w", fold.ErrUnavailable, err),
			"without a network, copy the folder of a model here and run: foldwatch model use DIR")
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	kind := fold.ErrUnavailable
	if resp.StatusCode == http.StatusNotFound {
		kind = fold.ErrNotFound
	}
	return nil, errors.Join(fmt.Errorf("it answers %s: %w", resp.Status, kind), resp.Body.Close())
}

// small fetches what is held in memory.
func (p *puller) small(ctx context.Context, at string) ([]byte, error) {
	body, err := p.get(ctx, at)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	const most = 8 << 20
	b, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fold.ErrUnavailable, err)
	}
	if len(b) > most {
		return nil, fmt.Errorf("its index has more than %d bytes: %w", most, fold.ErrInvalid)
	}
	return b, nil
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
