package gitops

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	gittransport "github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// An ownTransport speaks to a remote over https or ssh where there is no git
// program: by go-git, with the keys of the ssh agent and without credential
// helpers, which are programs of git.
type ownTransport struct {
	obj *objects
	at  address
	opt SyncOptions

	mu     sync.Mutex
	answer httpAnswer // of the last response
}

// client returns go-git's client for the address.
func (o *ownTransport) client() (gittransport.Transport, *gittransport.Endpoint, error) {
	ep, err := gittransport.NewEndpoint(o.at.url)
	if err != nil {
		return nil, nil, syncError(SyncRefused, o.at.host, "", "%s", redact(err.Error()))
	}
	if o.at.scheme == "ssh" {
		return gitssh.DefaultClient, ep, nil
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{}
	}
	base = base.Clone()
	if pem, err := os.ReadFile(os.Getenv("GIT_SSL_CAINFO")); err == nil {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		base.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return githttp.NewClientWithOptions(&http.Client{Transport: &hearing{o: o, base: base}},
		&githttp.ClientOptions{RedirectPolicy: githttp.NoFollowRedirects}), ep, nil
}

// A hearing notes what responses say and ends those that are too long.
type hearing struct {
	o    *ownTransport
	base *http.Transport
}

func (h *hearing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := h.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	h.o.mu.Lock()
	h.o.answer = httpAnswer{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After"), location: res.Header.Get("Location")}
	h.o.mu.Unlock()
	res.Body = &bounded{ReadCloser: res.Body, left: h.o.opt.MaxBytes}
	return res, nil
}

// errTooMuch ends a transfer beyond the bound.
var errTooMuch = errors.New("the remote sends too much")

// A bounded reader fails beyond a number of bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}

// fail makes the error of a transfer.
func (o *ownTransport) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*SyncError](err); ok {
		return e
	}
	o.mu.Lock()
	r := ran{stderr: redact(err.Error()), err: err, http: o.answer}
	o.mu.Unlock()
	switch {
	case errors.Is(err, errTooMuch):
		return syncError(SyncRefused, o.at.host, "look at what the branch foldwatch of the remote holds",
			"the remote sent more than %d MB", o.opt.MaxBytes>>20)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		return syncError(SyncOffline, o.at.host, "", "no answer in time")
	}
	e := transferError(o.at.host, r)
	if s, ok := errors.AsType[*SyncError](e); ok && s.Kind == SyncAuth && o.at.scheme != "ssh" {
		return syncError(SyncAuth, o.at.host, "install git, whose credential helpers know your logins, or use an ssh address", "%s", oneLine(r.stderr))
	}
	return e
}

// upload opens a session to read, and asks what there is.
func (o *ownTransport) upload(ctx context.Context) (gittransport.UploadPackSession, *packp.AdvRefs, error) {
	c, ep, err := o.client()
	if err != nil {
		return nil, nil, err
	}
	s, err := c.NewUploadPackSession(ep, nil)
	if err != nil {
		return nil, nil, err
	}
	refs, err := s.AdvertisedReferencesContext(ctx)
	if errors.Is(err, gittransport.ErrEmptyRemoteRepository) {
		return s, packp.NewAdvRefs(), nil
	}
	if err != nil {
		_ = s.Close()
		return nil, nil, err
	}
	return s, refs, nil
}

func (o *ownTransport) tip(ctx context.Context) (plumbing.Hash, error) {
	ctx, stop := context.WithTimeout(ctx, min(askLimit, o.opt.Timeout))
	defer stop()
	s, refs, err := o.upload(ctx)
	if err != nil {
		return plumbing.ZeroHash, o.fail(ctx, err)
	}
	_ = s.Close()
	return refs.References[refBranch], nil
}

func (o *ownTransport) fetch(ctx context.Context) (plumbing.Hash, error) {
	ctx, stop := context.WithTimeout(ctx, o.opt.Timeout)
	defer stop()
	tip, err := o.receive(ctx)
	if err != nil {
		o.obj.sweepPacks()
		return tip, o.fail(ctx, err)
	}
	return tip, nil
}

func (o *ownTransport) receive(ctx context.Context) (tip plumbing.Hash, err error) {
	s, refs, err := o.upload(ctx)
	if err != nil {
		return tip, err
	}
	defer s.Close()
	if tip = refs.References[refBranch]; tip.IsZero() || o.obj.holds(tip) {
		return tip, nil
	}
	req := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	req.Wants = []plumbing.Hash{tip}
	for _, name := range []string{refBranch, refRemote} {
		if h, err := o.obj.ref(name); err == nil && !h.IsZero() {
			req.Haves = append(req.Haves, h)
		}
	}
	res, err := s.UploadPack(ctx, req)
	if err != nil {
		return tip, err
	}
	defer res.Close()
	var in io.Reader = &bounded{ReadCloser: res, left: o.opt.MaxBytes}
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		in = sideband.NewDemuxer(sideband.Sideband64k, in)
	case req.Capabilities.Supports(capability.Sideband):
		in = sideband.NewDemuxer(sideband.Sideband, in)
	}
	// A storage of its own: the store's goes on being read meanwhile.
	if err := packfile.UpdateObjectStorage(o.storage(), in); err != nil {
		return tip, err
	}
	if err := o.obj.fs.syncDirs(); err != nil {
		return tip, err
	}
	o.obj.refresh()
	if !o.obj.holds(tip) {
		return tip, syncError(SyncRefused, o.at.host, "", "the remote did not send its own tip")
	}
	return tip, nil
}

func (o *ownTransport) storage() *filesystem.Storage {
	return filesystem.NewStorageWithOptions(o.obj.fs, cache.NewObjectLRU(16*cache.MiByte), filesystem.Options{AlternatesFS: o.obj.fs})
}

func (o *ownTransport) push(ctx context.Context, was, is plumbing.Hash) error {
	ctx, stop := context.WithTimeout(ctx, o.opt.Timeout)
	defer stop()
	err := o.send(ctx, was, is)
	if errors.Is(err, io.EOF) {
		// A remote that took all and hung up before we said that it was all answered
		// nothing that go-git hands on (by ssh). What it has now is the answer.
		if tip, asked := o.tip(ctx); asked == nil && tip == is {
			return nil
		}
	}
	return o.fail(ctx, err)
}

func (o *ownTransport) send(ctx context.Context, was, is plumbing.Hash) error {
	c, ep, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.NewReceivePackSession(ep, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	refs, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	if refs.References[refBranch] != was {
		return syncError(SyncLost, o.at.host, "", "somebody else pushed")
	}
	names, err := o.obj.newSince(ctx, was, is)
	if err != nil {
		return err
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	// The remote compares Old once more under its lock: that is the lease.
	req.Commands = []*packp.Command{{Name: refBranch, Old: was, New: is}}
	pr, pw := io.Pipe()
	req.Packfile = pr
	var wg sync.WaitGroup
	wg.Go(func() {
		out := bufio.NewWriterSize(pw, 64<<10)
		_, err := packfile.NewEncoder(out, o.storage(), false).Encode(names, 0)
		if err == nil {
			err = out.Flush()
		}
		_ = pw.CloseWithError(err)
	})
	report, err := s.ReceivePack(ctx, req)
	_ = pr.Close()
	wg.Wait()
	if report != nil {
		for _, st := range report.CommandStatuses {
			if st.ReferenceName == refBranch && st.Status != "ok" {
				return rejection(o.at.host, "[remote rejected] ("+redact(st.Status)+")", "")
			}
		}
	}
	return err
}

// newSince returns the objects that is needs and was has not: those of a push.
func (o *objects) newSince(ctx context.Context, was, is plumbing.Hash) ([]plumbing.Hash, error) {
	seen := map[plumbing.Hash]bool{plumbing.ZeroHash: true, was: true}
	var out []plumbing.Hash
	base, err := o.treeOf(was)
	if err != nil {
		return nil, err
	}
	for queue := []plumbing.Hash{is}; len(queue) > 0; queue = queue[1:] {
		h := queue[0]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if seen[h] {
			continue
		}
		seen[h] = true
		c, err := o.commitOf(h)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
		queue = append(queue, c.ParentHashes...)
		if err := o.newBelow(c.TreeHash, base, seen, &out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// newBelow adds what is in a tree and not at the same place in another.
func (o *objects) newBelow(tree, base plumbing.Hash, seen map[plumbing.Hash]bool, out *[]plumbing.Hash) error {
	if tree == base || seen[tree] {
		return nil
	}
	seen[tree] = true
	*out = append(*out, tree)
	entries, err := o.readTree(tree)
	if err != nil {
		return err
	}
	old, err := o.readTree(base)
	if err != nil {
		return err
	}
	had := map[string]treeEntry{}
	for _, e := range old {
		had[e.name] = e
	}
	for _, e := range entries {
		was := had[e.name]
		switch {
		case was.hash == e.hash, e.odd == modeGitlink:
		case e.dir && was.dir:
			err = o.newBelow(e.hash, was.hash, seen, out)
		case e.dir:
			err = o.newBelow(e.hash, plumbing.ZeroHash, seen, out)
		case !seen[e.hash]:
			seen[e.hash] = true
			*out = append(*out, e.hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
