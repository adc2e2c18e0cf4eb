package auth

import (
	"context"
	"slices"
)

// review finds out at the start what each user may by the settings as they are now,
// and ends what came of more. A provider that cannot be at this start vouches for
// nobody, but nothing is taken from its users: it may be back at the next.
func (l *Logins) review(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.users {
		if l.absent[u.rec.Provider] {
			continue
		}
		if err := l.reviewUser(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// reviewUser is called with mu held. What ends does so first: after a crash in
// between, the next start finds the role as it was, and does it again.
func (l *Logins) reviewUser(ctx context.Context, u *user) error {
	rec := u.rec
	p := l.providers[rec.Provider]
	if p == nil || p.set.Issuer != rec.Issuer { // who vouched for the user does so no more
		rec.Role = ""
		if err := l.endAll(ctx, u); err != nil {
			return err
		}
	} else {
		values := rec.Said.Values
		if rec.Said.Claim != p.set.RoleClaim {
			values = nil // nobody knows those of the other claim
		}
		rec.Role, rec.Said.Projects = roleFor(p.set, values), p.set.Projects
		var err error
		switch {
		case rec.Assigned != "": // it stands whatever the claims say
		case rec.Role == "" && u.rec.Role != "":
			err = l.endAll(ctx, u)
		case rank(roleScopes[rec.Role]) < rank(roleScopes[u.rec.Role]), u.rec.Role != "" && narrower(u.rec.Said.Projects, rec.Said.Projects):
			err = l.lessen(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	if rec.Role == u.rec.Role && slices.Equal(rec.Said.Projects, u.rec.Said.Projects) {
		return nil
	}
	l.log.InfoContext(ctx, "Role by changed settings", "user", rec.ID, "provider", rec.Provider, "scope", roleScopes[rec.Role], "projects", len(rec.Said.Projects))
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
