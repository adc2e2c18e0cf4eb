package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

const (
	day = 24 * time.Hour
	// Default and longest lifetime of a token.
	defaultTokenLife = 90 * day
	maxTokenLife     = 3650 * day
	// noteEvery is how often the last uses are stored.
	noteEvery = time.Minute
	// maxTokens bounds the table; revoked and expired tokens make room.
	maxTokens = 1000
	nameRunes = 100
)

// TokensOptions are the options of [OpenTokens]. The zero value works.
type TokensOptions struct {
	Now func() time.Time // wall clock by which tokens expire; nil means time.Now
	Log *slog.Logger     // wireToken of tokens that are refused; nil discards
}

// Tokens has the tokens of one daemon, and is their [Authenticator]. All of them are in
// memory, by their hashes, since only this process changes them; so a revocation acts at
// once. Safe for concurrent use.
type Tokens struct {
	state *state.DB
	now   func() time.Time
	log   *slog.Logger

	mu        sync.Mutex // guards the fields below; held while a change is stored
	byHash    map[[sha256.Size]byte]*token
	byID      map[string]*token
	used      map[string]time.Time // last uses that are not stored yet
	suspended map[string]bool      // users whose tokens are suspended, see suspend
}

type token struct {
	rec  state.APIToken
	hash [sha256.Size]byte
	life context.Context // ends when it is revoked
	end  context.CancelFunc
}

// OpenTokens reads the tokens from state.
func OpenTokens(ctx context.Context, state *state.DB, opt TokensOptions) (*Tokens, error) {
	t := &Tokens{
		state: state, now: opt.Now, log: opt.Log,
		byHash: map[[sha256.Size]byte]*token{}, byID: map[string]*token{}, used: map[string]time.Time{},
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	recs, err := state.APITokens(ctx)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		if err := t.hold(rec); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// hold adds a token; with mu held, or before t is shared.
func (t *Tokens) hold(rec state.APIToken) error {
	k := &token{rec: rec}
	if n, err := hex.Decode(k.hash[:], []byte(rec.Hash)); err != nil || n != len(k.hash) {
		return fmt.Errorf("token %s: its hash is damaged: %w", rec.ID, fold.ErrUnavailable)
	}
	k.life, k.end = context.WithCancel(context.Background())
	if !rec.Revoked.IsZero() {
		k.end()
	}
	t.byHash[k.hash], t.byID[rec.ID] = k, k
	return nil
}

// errRefused is the answer to all invalid credentials. Whether they are unknown, expired
// or revoked is not revealed.
func errRefused() error {
	return fold.WithHint(fmt.Errorf("this needs a valid token: %w", fold.ErrUnauthenticated),
		"make one with: foldwatch token create; send it as: Authorization: Bearer fwt_…")
}

// ErrNobody is the same for a request without credentials.
func ErrNobody() error { return errRefused() }

// Authenticate checks Authorization: Bearer fwt_…. Any other value of that header is
// refused.
func (t *Tokens) Authenticate(r *http.Request) (Caller, bool, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return Caller{}, false, nil
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return Caller{}, true, errRefused()
	}
	if _, err := ParseSecret(text); err != nil {
		return Caller{}, true, errRefused()
	}
	hash := digest(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byHash[hash]
	if k == nil || subtle.ConstantTimeCompare(k.hash[:], hash[:]) != 1 {
		return Caller{}, true, errRefused()
	}
	now := t.now()
	if state := t.stateOf(k, now); state != "active" {
		t.log.InfoContext(r.Context(), "Refused a token", "token", k.rec.ID, "state", state)
		return Caller{}, true, errRefused()
	}
	k.rec.Used = now
	t.used[k.rec.ID] = now
	return k.caller(), true, nil
}

// stateOf returns whether a token may be used now. It is called with mu held.
func (t *Tokens) stateOf(k *token, now time.Time) string {
	state := k.state(now)
	if state == "active" && t.suspended[t.maker(k)] {
		return "suspended"
	}
	return state
}

// state is the state of the token itself, whoever made it.
func (k *token) state(now time.Time) string {
	switch {
	case !k.rec.Revoked.IsZero():
		return "revoked"
	case !now.Before(k.rec.Expires):
		return "expired"
	}
	return "active"
}

func (k *token) caller() Caller {
	return Caller{
		ID: "token:" + k.rec.ID, Name: k.rec.Name, Until: k.rec.Expires, Life: k.life,
		Scope: fold.Scope{
			All: len(k.rec.Projects) == 0, Projects: slices.Clone(k.rec.Projects),
			Write: rank(k.rec.Scope) >= rank("write"), Admin: k.rec.Scope == "admin", Author: k.rec.Name,
		},
	}
}

// rank orders scopes by what they allow; -1 is no scope.
func rank(scope string) int { return slices.Index([]string{"read", "write", "admin"}, scope) }

func rankOf(sc fold.Scope) int {
	switch {
	case sc.Admin:
		return 2
	case sc.Write:
		return 1
	}
	return 0
}

// Run stores when tokens were last used, until ctx ends.
func (t *Tokens) Run(ctx context.Context) error {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.note(ctx)
		case <-ctx.Done():
			t.note(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func (t *Tokens) note(ctx context.Context) {
	t.mu.Lock()
	used := t.used
	t.used = map[string]time.Time{}
	t.mu.Unlock()
	if len(used) == 0 {
		return
	}
	if err := t.state.SetAPITokensUsed(ctx, used); err != nil {
		t.log.WarnContext(ctx, "Use of tokens not noted", "err", err)
	}
}

// List returns the tokens that who may see, newest first: an administrator of all
// projects sees all, others their own and what they made.
func (t *Tokens) List(who Caller) wire.TokenList {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, now := wire.TokenList{Items: []wire.Token{}}, t.now()
	for _, k := range t.byID {
		if k.seenBy(who) {
			list.Items = append(list.Items, t.wireToken(k, now))
		}
	}
	slices.SortFunc(list.Items, func(a, b wire.Token) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (k *token) seenBy(who Caller) bool {
	return AdminOfAll.Allows(who.Scope) || who.ID != "" && (k.rec.UserID == who.ID || "token:"+k.rec.ID == who.ID)
}

// wireToken is called with mu held.
func (t *Tokens) wireToken(k *token, now time.Time) wire.Token {
	out := wire.Token{
		ID: k.rec.ID, Name: k.rec.Name, Scope: k.rec.Scope, Projects: slices.Clone(k.rec.Projects), State: t.stateOf(k, now),
		MadeBy: k.rec.UserID, CreatedAt: k.rec.Created, ExpiresAt: k.rec.Expires,
	}
	if used := k.rec.Used; !used.IsZero() {
		used = used.UTC().Truncate(time.Minute)
		out.LastUsed = &used
	}
	return out
}

// Create makes a token that may do no more than who, and lasts no longer. It returns
// ErrForbidden for more, and ErrInvalid.
func (t *Tokens) Create(ctx context.Context, who Caller, in wire.TokenCreate) (wire.TokenCreated, error) {
	now := t.now().UTC()
	rec, err := checkCreate(who, in, now)
	if err != nil {
		return wire.TokenCreated{}, fmt.Errorf("create token: %w", err)
	}
	var secret Secret
	var id [8]byte
	rand.Read(secret[:]) // never fails (crypto/rand)
	rand.Read(id[:])
	hash := digest(secret.String())
	rec.ID, rec.Hash, rec.UserID, rec.Created = hex.EncodeToString(id[:]), hex.EncodeToString(hash[:]), who.ID, now

	t.mu.Lock()
	defer t.mu.Unlock()
	gone, err := t.tokensToDrop(now)
	if err != nil {
		return wire.TokenCreated{}, fmt.Errorf("create token: %w", err)
	}
	if err := t.state.PutAPIToken(ctx, rec, gone...); err != nil {
		return wire.TokenCreated{}, err
	}
	for _, id := range gone {
		delete(t.byHash, t.byID[id].hash)
		delete(t.byID, id)
	}
	if err := t.hold(rec); err != nil {
		return wire.TokenCreated{}, err
	}
	t.log.InfoContext(ctx, "Token created", "token", rec.ID, "scope", rec.Scope, "by", who.ID)
	return wire.TokenCreated{Token: t.wireToken(t.byID[rec.ID], now), Secret: secret.String()}, nil
}

// checkCreate checks a request against what the caller may do.
func checkCreate(who Caller, in wire.TokenCreate, now time.Time) (rec state.APIToken, err error) {
	rec = state.APIToken{Name: strings.TrimSpace(in.Name), Scope: in.Scope, Projects: slices.Clone(in.Projects)}
	if rec.Name == "" || utf8.RuneCountInString(rec.Name) > nameRunes || strings.ContainsFunc(rec.Name, unicode.IsControl) || !utf8.ValidString(rec.Name) {
		return rec, fmt.Errorf("a name has 1 to %d printable characters: %w", nameRunes, fold.ErrInvalid)
	}
	if rank(rec.Scope) < 0 {
		return rec, fmt.Errorf("scope %.20q is not read, write or admin: %w", rec.Scope, fold.ErrInvalid)
	}
	more := func(what string) error {
		return fmt.Errorf("a token may not make one that %s than itself: %w", what, fold.ErrForbidden)
	}
	if who.ID == "" || !Read.Allows(who.Scope) || rank(rec.Scope) > rankOf(who.Scope) {
		return rec, more("may more")
	}
	if len(rec.Projects) == 0 && !who.Scope.All {
		rec.Projects = slices.Clone(who.Scope.Projects)
	}
	for _, slug := range rec.Projects {
		if !who.Scope.CanRead(slug) {
			return rec, more("reads more")
		}
	}
	slices.Sort(rec.Projects)
	rec.Projects = slices.Compact(rec.Projects)
	life, given, err := parseLifetime(in.Expires)
	if err != nil {
		return rec, err
	}
	rec.Expires = now.Add(life).Truncate(time.Microsecond)
	if !who.Until.IsZero() && rec.Expires.After(who.Until) {
		if given {
			return rec, more("lasts longer")
		}
		rec.Expires = who.Until
	}
	return rec, nil
}

// parseLifetime parses a lifetime such as 90d or 12h.
func parseLifetime(s string) (life time.Duration, given bool, err error) {
	if s == "" {
		return defaultTokenLife, false, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		if n, err = strconv.ParseUint(days, 10, 16); err == nil {
			life = time.Duration(n) * day
		}
	} else {
		life, err = time.ParseDuration(s)
	}
	if err != nil || life <= 0 || life > maxTokenLife {
		return 0, true, fmt.Errorf("expires %.20q is not a time such as 90d or 12h, at most %d days: %w", s, maxTokenLife/day, fold.ErrInvalid)
	}
	return life, true, nil
}

// tokensToDrop returns the tokens that make room for one more: expired and revoked ones,
// oldest first. It is called with mu held.
func (t *Tokens) tokensToDrop(now time.Time) ([]string, error) {
	if len(t.byID) < maxTokens {
		return nil, nil
	}
	var oldest *token
	for _, k := range t.byID {
		if k.state(now) != "active" && (oldest == nil || k.rec.Created.Before(oldest.rec.Created)) {
			oldest = k
		}
	}
	if oldest == nil {
		return nil, fold.WithHint(fmt.Errorf("there are %d tokens: %w", len(t.byID), fold.ErrInvalid), "revoke one: foldwatch token revoke ID")
	}
	return []string{oldest.rec.ID}, nil
}

// Revoke revokes a token that who may see, with all tokens that were made by it, and ends
// their streams. Doing it again changes nothing. It returns ErrNotFound if there is none
// that who may see.
func (t *Tokens) Revoke(ctx context.Context, who Caller, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byID[id]
	if k == nil || !k.seenBy(who) {
		return fmt.Errorf("token %.40q: %w", id, fold.WithHint(fold.ErrNotFound, "foldwatch token list"))
	}
	ids := t.family(id)
	if err := t.revoke(ctx, ids); err != nil {
		return err
	}
	t.log.InfoContext(ctx, "Token revoked", "token", id, "by", who.ID, "with", len(ids)-1)
	return nil
}

// revoke ends tokens, even if it then returns an error because that cannot be stored. It
// is called with mu held.
func (t *Tokens) revoke(ctx context.Context, ids []string) error {
	now := t.now().UTC()
	err := t.state.RevokeAPITokens(context.WithoutCancel(ctx), ids, now) // one of them may be that of the caller
	for _, id := range ids {
		k := t.byID[id]
		if k.rec.Revoked.IsZero() {
			k.rec.Revoked = now
		}
		k.end()
	}
	return err
}

// revokeOf revokes all tokens that a user made, and those made by them.
func (t *Tokens) revokeOf(ctx context.Context, userID string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id, k := range t.byID {
		if k.rec.UserID == userID { // also a revoked one, since that may not have been stored
			ids = append(ids, t.family(id)...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	left := 0
	for _, id := range ids {
		if t.byID[id].rec.Revoked.IsZero() {
			left++
		}
	}
	if left > 0 {
		t.log.InfoContext(ctx, "Tokens of a user revoked", "user", userID, "count", left)
	}
	return t.revoke(ctx, ids)
}

// suspend suspends the tokens that these users made, and those made by them; all others
// are valid again.
func (t *Tokens) suspend(users map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.suspended = users
}

// maker returns the maker of the first of the tokens by which k was made. It is called
// with mu held.
func (t *Tokens) maker(k *token) string {
	for {
		id, byToken := strings.CutPrefix(k.rec.UserID, "token:")
		before := t.byID[id]
		if !byToken || before == nil {
			return k.rec.UserID
		}
		k = before
	}
}

// family returns a token and all that were made by it, directly or not. It is called with
// mu held.
func (t *Tokens) family(id string) []string {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for _, k := range t.byID {
			if k.rec.UserID == "token:"+ids[i] && !slices.Contains(ids, k.rec.ID) {
				ids = append(ids, k.rec.ID)
			}
		}
	}
	return ids
}
