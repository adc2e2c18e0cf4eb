package auth

import (
	"context"
	"slices"
)

// review computes the roles of all users by the current settings, and revokes what
// exceeds them: at the start, and when a provider is added. A provider that is missing or
// disabled confirms nobody, but its users lose nothing for good: at the next start it may
// be back, if only the environment lacked it. It is called with mu held, or before l is
// shared.
func (l *Logins) review(ctx context.Context) error {
	for _, u := range l.users {
		if l.providers[u.rec.Provider] == nil {
			continue
		}
		if err := l.reviewUser(ctx, u); err != nil {
			return err
		}
	}
	l.suspend()
	return nil
}

// suspend suspends the tokens of users that no provider confirms now. It is called with
// mu held, or before l is shared.
func (l *Logins) suspend() {
	if l.opt.Tokens == nil {
		return
	}
	away := map[string]bool{}
	for _, u := range l.users {
		if l.currentProvider(u) == nil {
			away["user:"+u.rec.ID] = true
		}
	}
	l.opt.Tokens.suspend(away)
}

// currentProvider returns the provider of the user's last login, nil if it is missing or
// has become another one. It is called with mu held.
func (l *Logins) currentProvider(u *user) *provider {
	if p := l.providers[u.rec.Provider]; p != nil && p.set.Issuer == u.rec.Issuer {
		return p
	}
	return nil
}

// reviewUser is review for a user whose provider is there. It revokes first and stores
// the role last, so that after a crash in between the next start does it again.
func (l *Logins) reviewUser(ctx context.Context, u *user) error {
	rec := u.rec
	p := l.currentProvider(u)
	switch {
	case p == nil: // who vouched for the user is another by now
		rec.Role = ""
		if err := l.endAll(ctx, u); err != nil {
			return err
		}
	case !rec.Claims.Known: // the next login tells
		return nil
	default:
		values := rec.Claims.Values
		if rec.Claims.Claim != p.set.RoleClaim {
			values = nil // nobody knows those of the other claim
		}
		rec.Role, rec.Claims.Projects = roleFor(p.set, values), p.set.Projects
		var err error
		switch {
		case rec.Assigned != "": // it stands whatever the claims say
		case rec.Role == "" && u.rec.Role != "":
			err = l.endAll(ctx, u)
		case rank(roleScopes[rec.Role]) < rank(roleScopes[u.rec.Role]), u.rec.Role != "" && narrower(u.rec.Claims.Projects, rec.Claims.Projects):
			err = l.revokeAccess(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	if rec.Role == u.rec.Role && slices.Equal(rec.Claims.Projects, u.rec.Claims.Projects) {
		return nil
	}
	l.log.InfoContext(ctx, "Role by changed settings", "user", rec.ID, "provider", rec.Provider, "scope", roleScopes[rec.Role], "projects", len(rec.Claims.Projects))
	if err := l.state.PutUser(ctx, rec); err != nil {
		return err
	}
	u.rec = rec
	return nil
}

// narrower reports whether a project of before is not in now; no projects means all.
func narrower(before, now []string) bool {
	if len(now) == 0 {
		return false
	}
	return len(before) == 0 || slices.ContainsFunc(before, func(slug string) bool { return !slices.Contains(now, slug) })
}
