package auth

import (
	"context"
	"slices"
)

// review finds out what each user may by the settings as they are now, and ends what
// came of more: at the start, and when a provider comes. One that is not here, since it
// is not named, disabled or cannot be, vouches for nobody, but nothing is taken from
// its users for good: at the next start it may be back, as where the daemon was
// started without the environment that names it. It is called with mu held, or before
// anybody else knows l.
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

// suspend has the tokens of users refused for whom nobody vouches now. It is called
// with mu held, or before anybody else knows l.
func (l *Logins) suspend() {
	if l.opt.Tokens == nil {
		return
	}
	away := map[string]bool{}
	for _, u := range l.users {
		if l.vouching(u) == nil {
			away["user:"+u.rec.ID] = true
		}
	}
	l.opt.Tokens.suspend(away)
}

// vouching returns the provider by which the user logged in last, nil where it is not
// here, or another by now. It is called with mu held.
func (l *Logins) vouching(u *user) *provider {
	if p := l.providers[u.rec.Provider]; p != nil && p.set.Issuer == u.rec.Issuer {
		return p
	}
	return nil
}

// reviewUser is review of a user whose provider is here. What ends does so first:
// after a crash in between, the next start finds the role as it was, and does it again.
func (l *Logins) reviewUser(ctx context.Context, u *user) error {
	rec := u.rec
	p := l.vouching(u)
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
			err = l.lessen(ctx, u)
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

// narrower reports whether some of the projects before are not among those now; none
// is all.
func narrower(before, now []string) bool {
	if len(now) == 0 {
		return false
	}
	return len(before) == 0 || slices.ContainsFunc(before, func(slug string) bool { return !slices.Contains(now, slug) })
}
