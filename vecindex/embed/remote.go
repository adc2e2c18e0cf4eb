package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// RemoteOptions say whom a [Remote] asks.
type RemoteOptions struct {
	Name  string // of the provider, as the user calls it
	Kind  string // ollama, openai, openrouter, gemini, voyage
	URL   string // "" is the usual one
	Model string // "" is the usual one
	Dim   int    // wanted; 0 is what the model gives

	Project string // on whose behalf
	Client  *provider.Client
}

// A Remote embeds by asking a provider over HTTP. Texts that hold a credential are
// not sent: they get no vector. It is safe for concurrent use.
type Remote struct {
	opt      RemoteOptions
	can      capability
	dialect  dialect
	post     requester
	identity Identity
}

// probeText is what a provider is asked for to learn about a model.
const probeText = "foldwatch"

// OpenRemote asks the provider for one vector, to learn the dimension of the model,
// unless known says what was learned before. It returns ErrInvalid if the model
// cannot have the wanted dimension.
func OpenRemote(ctx context.Context, opt RemoteOptions, known *Identity) (*Remote, error) {
	return openRemote(ctx, opt, opt.Client, known)
}

func openRemote(ctx context.Context, opt RemoteOptions, post requester, known *Identity) (*Remote, error) {
	if _, ok := kinds()[opt.Kind]; !ok {
		return nil, fmt.Errorf("provider %s: there are no embeddings of kind %q: %w", opt.Name, opt.Kind, fold.ErrInvalid)
	}
	if opt.Model == "" {
		opt.Model = DefaultModel(opt.Kind)
	}
	r := &Remote{opt: opt, can: capabilityOf(opt.Kind, opt.Model), dialect: dialectOf(opt.Kind), post: post}
	r.identity = Identity{
		Provider: opt.Name, Model: opt.Model, Prompt: r.prompt(), Normalize: "l2",
		Dim: opt.Dim,
	}
	if opt.URL != "" && strings.TrimSuffix(opt.URL, "/") != DefaultURL(opt.Kind) {
		r.identity.Provider += "(" + opt.URL + ")" // the same name may be another model there
	}
	if known != nil && r.same(*known) {
		r.identity = *known
		return r, nil
	}
	if o, ok := r.dialect.(ollama); ok {
		var err error
		if r.identity.Revision, err = o.revision(ctx, post, r.call(nil), opt.Model); err != nil {
			return nil, err
		}
	}
	vecs, err := r.batch(ctx, []string{r.can.document + probeText}, Document)
	if err != nil {
		return nil, err
	}
	if opt.Dim > 0 && len(vecs[0]) != opt.Dim {
		return nil, fold.WithHint(
			fmt.Errorf("model %s gives %d dimensions, not %d: %w", opt.Model, len(vecs[0]), opt.Dim, fold.ErrInvalid),
			"take embedding.dimension out of config.toml, or out of the environment")
	}
	if r.identity.Dim = len(vecs[0]); r.identity.Dim == 0 || r.identity.Dim > maxDim {
		return nil, fmt.Errorf("model %s gives %d dimensions: %w", opt.Model, r.identity.Dim, errAnswer)
	}
	return r, nil
}

// maxDim is the most dimensions an index takes.
const maxDim = 1 << 14

// same reports whether an identity that was learned before is that of r.
func (r *Remote) same(known Identity) bool {
	mine := r.identity
	mine.Revision = known.Revision
	if mine.Dim == 0 {
		mine.Dim = known.Dim
	}
	return mine == known && known.Dim > 0
}

func (r *Remote) prompt() string {
	if r.can.document != "" || r.can.query != "" {
		return r.can.document + "|" + r.can.query
	}
	return r.dialect.prompt()
}

// Identity returns what the vectors depend on.
func (r *Remote) Identity() Identity { return r.identity }

// Embed returns the vectors of texts. Those without anything to say, and those that
// hold a credential, get none.
func (r *Remote) Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var batch []string
	var at []int
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		vecs, err := r.batch(ctx, batch, kind)
		if err != nil {
			return err
		}
		for i, v := range vecs {
			if out[at[i]], err = r.accept(v); err != nil {
				return err
			}
		}
		batch, at, size = nil, nil, 0
		return nil
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if len(secret.Scan([]byte(text))) > 0 {
			continue
		}
		prefix := r.can.document
		if kind == Query {
			prefix = r.can.query
		}
		text = prefix + cut(strings.ToValidUTF8(text, "\uFFFD"), r.can.tokens*tokenBytes)
		if len(batch) == r.can.texts || len(batch) > 0 && size+len(text) > r.can.bytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch, at, size = append(batch, text), append(at, i), size+len(text)
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return out, nil
}

func (r *Remote) accept(v vector) ([]float32, error) {
	if len(v) != r.identity.Dim {
		return nil, fold.WithHint(fmt.Errorf("provider %s gives vectors of %d dimensions, and gave %d before: %w", r.opt.Name, len(v), r.identity.Dim, errAnswer),
			"if another model stands behind the name now: foldwatch model use "+r.opt.Name+"/"+r.opt.Model)
	}
	u, err := unit(v)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", r.opt.Name, err)
	}
	return u, nil
}

func (r *Remote) call(texts []string) provider.Call {
	size := 0
	for _, t := range texts {
		size += len(t)
	}
	dim := r.identity.Dim
	if dim == 0 {
		dim = maxDim
	}
	return provider.Call{
		Project: r.opt.Project, Texts: len(texts), Tokens: (size + tokenBytes - 1) / tokenBytes,
		MaxAnswer: 1<<20 + int64(len(texts)*dim)*24, // digits of a float64 and a comma
	}
}

// leastCut is the length in bytes below which a text is not cut any more: a
// provider that refuses it refuses something else.
const leastCut = 200

// batch asks for some texts. Where the provider refuses them for their size, it
// asks for half of them at a time, and cuts a single text in half.
func (r *Remote) batch(ctx context.Context, texts []string, kind Kind) ([]vector, error) {
	dim := 0
	if r.can.cuts || r.can.dim == 0 { // one nobody told us about may know how
		dim = r.opt.Dim
	}
	vecs, err := r.dialect.ask(ctx, r.post, r.call(texts), request{model: r.opt.Model, texts: texts, kind: kind, dim: dim})
	var pe *provider.Error
	switch {
	case err == nil && len(vecs) != len(texts):
		return nil, fmt.Errorf("provider %s: %d vectors for %d texts: %w", r.opt.Name, len(vecs), len(texts), errAnswer)
	case err == nil:
		if i := slices.IndexFunc(vecs, func(v vector) bool { return len(v) == 0 }); i >= 0 {
			return nil, fmt.Errorf("provider %s: no vector for text %d of %d: %w", r.opt.Name, i+1, len(texts), errAnswer)
		}
		return vecs, nil
	case !errors.As(err, &pe) || !pe.TooLong():
		if errors.Is(err, fold.ErrNotFound) {
			err = fold.WithHint(err, "it may not have the model, or its URL is another; see: foldwatch model list")
		}
		return nil, err
	case len(texts) > 1:
		half := len(texts) / 2
		first, ferr := r.batch(ctx, texts[:half], kind)
		if ferr != nil {
			return nil, ferr
		}
		second, serr := r.batch(ctx, texts[half:], kind)
		return append(first, second...), serr
	case len(texts[0]) > leastCut:
		return r.batch(ctx, []string{cut(texts[0], len(texts[0])/2)}, kind)
	}
	return nil, err
}

// cut returns the first n bytes of s, no rune cut in two.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
