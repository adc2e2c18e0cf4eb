package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/shown"
	"github.com/foldwatch/foldwatch/meta/state"
)

const (
	// maxUserSessions is how many sessions one user may have; maxUsersWithoutRole how
	// many users without a role are stored. Beyond that the oldest go.
	maxUserSessions     = 20
	maxUsersWithoutRole = 200
)

// A user is somebody who has logged in.
type user struct {
	rec  state.User
	life context.Context // of access tokens: ends when the user may less
	end  context.CancelFunc
}

func newUser(rec state.User) *user {
	u := &user{rec: rec}
	u.life, u.end = context.WithCancel(context.Background())
	return u
}

// role returns the role of the user, "" for none, and its projects; none means all.
func (u *user) role(p *provider) (string, []string) {
	if u.rec.Assigned != "" {
		return u.rec.Assigned, u.rec.Projects
	}
	return u.rec.Role, p.set.Projects
}

// scopeOf returns the scope of a role.
func scopeOf(role string, projects []string, author string) fold.Scope {
	scope := roleScopes[role]
	if scope == "" {
		return fold.Scope{}
	}
	return fold.Scope{
		All: len(projects) == 0, Projects: slices.Clone(projects),
		Write: rank(scope) >= rank("write"), Admin: scope == "admin", Author: author,
	}
}

func (u *user) name() string { return cmp.Or(u.rec.Name, u.rec.Email, u.rec.Subject) }

// A session is one browser of a user.
type session struct {
	rec  state.Session
	user *user
	life context.Context // ends at logout, and when the user may less
	end  context.CancelFunc
}

func newSession(rec state.Session, u *user) *session {
	s := &session{rec: rec, user: u}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// hold adds a session; with mu held, or before l is shared.
func (l *Logins) hold(rec state.Session, u *user) error {
	var hash [sha256.Size]byte
	if n, err := hex.Decode(hash[:], []byte(rec.Hash)); err != nil || n != len(hash) {
		return fmt.Errorf("session of %s: its hash is damaged: %w", rec.UserID, fold.ErrUnavailable)
	}
	l.sessions[hash] = newSession(rec, u)
	return nil
}

func (l *Logins) openUsers(ctx context.Context) error {
	users, err := l.state.Users(ctx)
	if err != nil {
		return err
	}
	for _, rec := range users {
		l.users[rec.ID] = newUser(rec)
	}
	sessions, err := l.state.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, rec := range sessions {
		if u := l.users[rec.UserID]; u != nil {
			if err := l.hold(rec, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// userOf returns the user with that identity, nil if there is none. It is called with mu
// held.
func (l *Logins) userOf(issuer, subject string) *user {
	for _, u := range l.users {
		if u.rec.Issuer == issuer && u.rec.Subject == subject {
			return u
		}
	}
	return nil
}

// startSession stores the user who logged in and returns the cookie of a new session; an
// old session of the browser ends. A user without a role is stored, so that an
// administrator can assign one, but gets ErrForbidden.
func (l *Logins) startSession(ctx context.Context, p *provider, who identity, before string) (string, error) {
	ctx = context.WithoutCancel(ctx) // it may be of the session that ends here
	now := l.now().UTC()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.providers[p.id] != p {
		return "", errLogin(p.id) // replaced while it was asked
	}
	u := l.userOf(who.issuer, who.subject)
	if u == nil {
		var id [8]byte
		rand.Read(id[:]) // never fails (crypto/rand)
		u = newUser(state.User{ID: hex.EncodeToString(id[:]), Issuer: who.issuer, Subject: who.subject, Created: now})
	}
	rec, was := u.rec, u.rec
	rec.Email, rec.Name = shown.Clip(shown.Line(who.email), nameRunes), shown.Clip(shown.Line(who.name), nameRunes)
	rec.Provider, rec.LastLogin, rec.Role, rec.Claims = p.id, now, roleOf(p.set, who.claims), relevantClaims(p.set, who.claims)
	gone := l.usersToForget(u)
	if err := l.state.PutUser(ctx, rec, gone...); err != nil {
		return "", err
	}
	for _, id := range gone {
		l.users[id].end()
		delete(l.users, id)
	}
	u.rec, l.users[rec.ID] = rec, u
	defer l.suspend() // what was made before is accepted again, unless it ends here
	if was.Role != "" && (was.Role != rec.Role || was.Provider != rec.Provider) {
		if err := l.revokeAccess(ctx, u); err != nil {
			return "", err
		}
	}
	role, projects := u.role(p)
	if role == "" {
		l.log.WarnContext(ctx, "Login refused", "provider", p.id, "user", rec.ID, "reason", "the user has no role")
		return "", fold.WithHint(fmt.Errorf("you are user %s here, without a role: %w", rec.ID, fold.ErrForbidden),
			"ask an administrator of this foldwatch for one: PUT /auth/users/"+rec.ID)
	}
	value := secretText()
	rest := state.Session{Hash: hashText(value), UserID: rec.ID, Created: now, Seen: now, Expires: now.Add(l.opt.Max).Truncate(time.Microsecond)}
	ending := l.sessionsToEnd(u, before, now)
	if err := l.state.PutSession(ctx, rest, ending...); err != nil {
		return "", err
	}
	l.forgetSessions(ending)
	if err := l.hold(rest, u); err != nil {
		return "", err
	}
	l.log.InfoContext(ctx, "Logged in", "provider", p.id, "user", rec.ID, "scope", roleScopes[role], "projects", len(projects))
	return value, nil
}

// usersToForget returns users without a role that are deleted to make room for u. It is
// called with mu held.
func (l *Logins) usersToForget(u *user) []string {
	var without []*user
	for _, o := range l.users {
		if o != u && o.rec.Assigned == "" && o.rec.Role == "" {
			without = append(without, o)
		}
	}
	if len(without) < maxUsersWithoutRole {
		return nil
	}
	oldest := slices.MinFunc(without, func(a, b *user) int { return a.rec.LastLogin.Compare(b.rec.LastLogin) })
	return []string{oldest.rec.ID}
}

// sessionsToEnd returns the hashes of the sessions that end when u logs in: that of this
// browser, expired ones, and the oldest if there are too many. It is called with mu held.
func (l *Logins) sessionsToEnd(u *user, before string, now time.Time) (hashes []string) {
	var left []*session
	for _, s := range l.sessions {
		switch {
		case before != "" && s.rec.Hash == hashText(before), s.state(now, l.opt.Idle) != "active":
			hashes = append(hashes, s.rec.Hash)
		case s.user == u:
			left = append(left, s)
		}
	}
	slices.SortFunc(left, func(a, b *session) int { return a.rec.Created.Compare(b.rec.Created) })
	for i := range len(left) - maxUserSessions + 1 {
		hashes = append(hashes, left[i].rec.Hash)
	}
	return hashes
}

// forgetSessions removes sessions that are no longer stored. It is called with mu held.
func (l *Logins) forgetSessions(hashes []string) {
	for hash, s := range l.sessions {
		if slices.Contains(hashes, s.rec.Hash) {
			s.end()
			delete(l.sessions, hash)
			delete(l.seen, s.rec.Hash)
		}
	}
}

func (s *session) state(now time.Time, idle time.Duration) string {
	switch {
	case !now.Before(s.rec.Expires):
		return "expired"
	case !now.Before(s.rec.Seen.Add(idle)):
		return "idle"
	}
	return "active"
}

// Session returns the user of the cookie of r, false if r has no valid one: browsers keep
// cookies of ended sessions, and must still be able to log in. A nil l knows nobody.
func (l *Logins) Session(r *http.Request) (Caller, bool) {
	if l == nil {
		return Caller{}, false
	}
	value := l.sent(r, sessionCookie)
	if len(value) != secretDigits {
		return Caller{}, false
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[digest(value)]
	if s == nil || s.state(now, l.opt.Idle) != "active" {
		return Caller{}, false
	}
	p := l.currentProvider(s.user)
	if p == nil {
		return Caller{}, false
	}
	role, projects := s.user.role(p)
	if role == "" {
		return Caller{}, false
	}
	if now.After(s.rec.Seen) {
		s.rec.Seen = now
		l.seen[s.rec.Hash] = now
	}
	return Caller{
		ID: "user:" + s.user.rec.ID, Name: s.user.name(), Scope: scopeOf(role, projects, s.user.name()),
		Until: s.rec.Expires, Life: s.life, Browser: true,
	}, true
}

// Logout ends the session of r, and returns the cookie that deletes it.
func (l *Logins) Logout(r *http.Request) (*http.Cookie, error) {
	value := l.sent(r, sessionCookie)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[digest(value)]; s != nil {
		if err := l.state.DeleteSessions(r.Context(), []string{s.rec.Hash}); err != nil {
			return nil, err
		}
		l.forgetSessions([]string{s.rec.Hash})
		l.log.InfoContext(r.Context(), "Logged out", "user", s.user.rec.ID)
	}
	return l.gone(sessionCookie), nil
}

// revokeAccess ends the tokens and streams of a user. The request that asks for it may be
// one of them, so ctx must not be that of the request. It is called with mu held.
func (l *Logins) revokeAccess(ctx context.Context, u *user) error {
	u.end()
	u.life, u.end = context.WithCancel(context.Background())
	for hash, s := range l.sessions {
		if s.user == u {
			s.end()
			l.sessions[hash] = newSession(s.rec, u)
		}
	}
	if l.opt.Tokens == nil {
		return nil
	}
	return l.opt.Tokens.revokeOf(ctx, "user:"+u.rec.ID)
}

// endAll ends all sessions of a user. It is called with mu held.
func (l *Logins) endAll(ctx context.Context, u *user) error {
	var hashes []string
	for _, s := range l.sessions {
		if s.user == u {
			hashes = append(hashes, s.rec.Hash)
		}
	}
	err := l.state.DeleteSessions(ctx, hashes)
	l.forgetSessions(hashes) // also where that could not be written: it is tried again by who is told
	return errors.Join(err, l.revokeAccess(ctx, u))
}

// Run stores when sessions were last used, until ctx ends.
func (l *Logins) Run(ctx context.Context) error {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.note(ctx)
		case <-ctx.Done():
			l.note(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func (l *Logins) note(ctx context.Context) {
	l.mu.Lock()
	seen := l.seen
	l.seen = map[string]time.Time{}
	l.mu.Unlock()
	if len(seen) == 0 {
		return
	}
	if err := l.state.SetSessionsSeen(ctx, seen); err != nil {
		l.log.WarnContext(ctx, "Use of sessions not noted", "err", err)
	}
}

// Users returns all users, the last to log in first.
func (l *Logins) Users() wire.UserList {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := wire.UserList{Items: []wire.User{}}
	for _, u := range l.users {
		list.Items = append(list.Items, l.wireUser(u, now))
	}
	slices.SortFunc(list.Items, func(a, b wire.User) int {
		return cmp.Or(b.LastLogin.Compare(a.LastLogin), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// wireUser is called with mu held.
func (l *Logins) wireUser(u *user, now time.Time) wire.User {
	out := wire.User{
		ID: u.rec.ID, Name: u.rec.Name, Email: u.rec.Email, Issuer: u.rec.Issuer, Subject: u.rec.Subject, Provider: u.rec.Provider,
		Assigned: u.rec.Assigned != "", Projects: []string{}, CreatedAt: u.rec.Created, LastLogin: u.rec.LastLogin,
	}
	if p := l.currentProvider(u); p != nil {
		out.Role, out.Projects = u.role(p)
	}
	for _, s := range l.sessions {
		if s.user == u && s.state(now, l.opt.Idle) == "active" {
			out.Sessions++
		}
	}
	return out
}

// Assign gives a user a role that counts more than the claims; "" removes it. Tokens and
// sessions of the user end. It returns ErrNotFound, and ErrInvalid.
func (l *Logins) Assign(ctx context.Context, id string, in wire.UserAssign) (wire.User, error) {
	if in.Role != "" && roleScopes[in.Role] == "" {
		return wire.User{}, fmt.Errorf("role %.20q is not admin, member or viewer: %w", in.Role, fold.ErrInvalid)
	}
	ctx = context.WithoutCancel(ctx) // it may be of a session of the user
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[id]
	if u == nil {
		return wire.User{}, fmt.Errorf("user %.40q: %w", id, fold.WithHint(fold.ErrNotFound, "GET /auth/users lists who logged in once"))
	}
	rec := u.rec
	rec.Assigned, rec.Projects = in.Role, slices.Clone(in.Projects)
	if in.Role == "" {
		rec.Projects = nil
	}
	if err := l.state.PutUser(ctx, rec); err != nil {
		return wire.User{}, err
	}
	u.rec = rec
	l.log.InfoContext(ctx, "Role given", "user", id, "scope", roleScopes[in.Role], "by", CallerOf(ctx).ID)
	if err := l.revokeAccess(ctx, u); err != nil {
		return wire.User{}, err
	}
	return l.wireUser(u, l.now()), nil
}

// RemoveUser deletes a user with all sessions and tokens. It returns ErrNotFound.
func (l *Logins) RemoveUser(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx) // it may be of a session of the user
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[id]
	if u == nil {
		return fmt.Errorf("user %.40q: %w", id, fold.WithHint(fold.ErrNotFound, "GET /auth/users lists who logged in once"))
	}
	err := l.endAll(ctx, u)
	if e := l.state.DeleteUser(ctx, id); !errors.Is(e, fold.ErrNotFound) { // it went, and what came after failed
		err = errors.Join(err, e)
	}
	if err != nil {
		return err // the user is kept, so that it can be asked for again
	}
	delete(l.users, id)
	u.end()
	l.log.InfoContext(ctx, "User removed", "user", id, "by", CallerOf(ctx).ID)
	return nil
}

// Me describes the caller.
func (l *Logins) Me(who Caller) wire.Me {
	me := MeOf(who)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.users {
		if who.ID == "user:"+u.rec.ID {
			me.Email, me.Provider = u.rec.Email, u.rec.Provider
		}
	}
	return me
}

// MeOf describes a caller without a user.
func MeOf(who Caller) wire.Me {
	scope := []string{"read", "write", "admin"}[rankOf(who.Scope)]
	me := wire.Me{ID: who.ID, Name: who.Name, Scope: scope, Projects: slices.Clone(who.Scope.Projects)}
	for role, s := range roleScopes {
		if s == scope {
			me.Role = role
		}
	}
	if !who.Until.IsZero() {
		me.ExpiresAt = &who.Until
	}
	return me
}
