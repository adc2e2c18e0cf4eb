package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// resourcePath is the prefix of the paths of protected resource metadata (RFC 9728).
const resourcePath = "/.well-known/oauth-protected-resource"

// loginRoutes are those of login providers and of the caller.
func loginRoutes() []Route {
	type inProvider struct {
		Provider string `path:"provider" doc:"id of a login provider"`
	}
	list := answered(Public, "GET", "/auth/providers", "authProviders", "List what people can log in by",
		func(_ context.Context, s *Server, _ *inNone) (wire.AuthProviderList, error) {
			if s.opt.Logins == nil {
				return wire.AuthProviderList{}, nil
			}
			return s.opt.Logins.Providers(), nil
		})
	add := answered(AdminOfAll, "POST", "/auth/providers", "addAuthProvider", "Let the people of one more provider log in",
		func(ctx context.Context, s *Server, in *inBody[wire.AuthProviderCreate]) (wire.AuthProvider, error) {
			if s.opt.Logins == nil {
				return wire.AuthProvider{}, errNoLogins()
			}
			projects, err := s.slugs(ctx, in.Body.Projects)
			if err != nil {
				return wire.AuthProvider{}, err
			}
			in.Body.Projects = projects
			return s.opt.Logins.AddProvider(ctx, in.Body)
		})
	add.Status, add.Secret = http.StatusCreated, true
	remove := finished(AdminOfAll, "DELETE", "/auth/providers/{provider}", "removeAuthProvider", "End a login provider, with the sessions that came by it",
		func(ctx context.Context, s *Server, in *inProvider) error {
			if s.opt.Logins == nil {
				return errNoLogins()
			}
			return s.opt.Logins.RemoveProvider(ctx, in.Provider)
		})
	remove.Never = []int{http.StatusUnprocessableEntity, http.StatusInsufficientStorage}
	me := answered(Read, "GET", "/auth/me", "me", "Tell who is calling",
		func(ctx context.Context, s *Server, _ *inNone) (wire.Me, error) {
			if s.opt.Logins == nil {
				return auth.MeOf(auth.CallerOf(ctx)), nil
			}
			return s.opt.Logins.Me(auth.CallerOf(ctx)), nil
		})
	list.Never = []int{http.StatusInternalServerError, http.StatusInsufficientStorage}
	me.Never = list.Never
	return append([]Route{list, add, remove, me}, userRoutes()...)
}

// userRoutes are those of the users who have logged in.
func userRoutes() []Route {
	type inUser struct {
		ID string `path:"id" doc:"user"`
	}
	type inAssign struct {
		ID   string `path:"id" doc:"user"`
		Body wire.UserAssign
	}
	list := answered(AdminOfAll, "GET", "/auth/users", "users", "List who logged in once",
		func(_ context.Context, s *Server, _ *inNone) (wire.UserList, error) {
			if s.opt.Logins == nil {
				return wire.UserList{}, nil
			}
			return s.opt.Logins.Users(), nil
		})
	list.Never = []int{http.StatusInternalServerError, http.StatusInsufficientStorage}
	remove := finished(AdminOfAll, "DELETE", "/auth/users/{id}", "removeUser", "Forget a user, with sessions and tokens",
		func(ctx context.Context, s *Server, in *inUser) error {
			if s.opt.Logins == nil {
				return errNoLogins()
			}
			return s.opt.Logins.RemoveUser(ctx, in.ID)
		})
	remove.Never = []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInsufficientStorage}
	return []Route{
		list, remove,
		answered(AdminOfAll, "PUT", "/auth/users/{id}", "assignRole", "Give a user a role, whatever the claims say",
			func(ctx context.Context, s *Server, in *inAssign) (wire.User, error) {
				if s.opt.Logins == nil {
					return wire.User{}, errNoLogins()
				}
				projects, err := s.slugs(ctx, in.Body.Projects)
				if err != nil {
					return wire.User{}, err
				}
				in.Body.Projects = projects
				return s.opt.Logins.Assign(ctx, in.ID, in.Body)
			}),
	}
}

// browserRoutes are those of a login in the browser, which answer with redirects and
// cookies, and those that say where to get an access token.
func browserRoutes() []Route {
	problem := reflect.TypeFor[wire.Problem]()
	login := raw(Public, "GET", "/auth/login/{provider}", "login", "Begin to log in; the query return_to is the local path to end at", (*Server).login)
	login.Also = []Answer{
		{http.StatusSeeOther, "To the provider.", "", nil},
		{http.StatusTemporaryRedirect, "To this route at the address that browsers call this server by.", "", nil},
		{http.StatusNotFound, "", problemType, problem},
		{http.StatusUnprocessableEntity, "return_to is no path of this server.", problemType, problem},
	}
	login.Never = []int{http.StatusInternalServerError, http.StatusInsufficientStorage} // it keeps nothing
	back := raw(Public, "GET", "/auth/callback/{provider}", "loginCallback", "Where the provider sends the browser back to", (*Server).callback)
	back.Also = []Answer{
		{http.StatusSeeOther, "Logged in, to where the login was begun.", "", nil},
		{http.StatusNotFound, "", problemType, problem},
	}
	out := raw(Read, "POST", "/auth/logout", "logout", "End the session of this browser", (*Server).logout)
	out.Also = []Answer{
		{http.StatusNoContent, "Ended.", "", nil},
		{http.StatusUnprocessableEntity, "The caller has no session to end.", problemType, problem},
	}
	all := []Route{login, back, out}
	for _, of := range []struct{ id, path string }{{"resource", resourcePath}, {"resourceOfMCP", resourcePath + "/mcp"}} {
		r := raw(Public, "GET", of.path, of.id, "Tell where to get an access token for MCP (RFC 9728)", (*Server).resource)
		r.Also = []Answer{
			{http.StatusOK, "", jsonType, reflect.TypeFor[wire.ResourceMetadata]()},
			{http.StatusNotFound, "No provider gives any.", problemType, problem},
		}
		r.Never = []int{http.StatusInternalServerError}
		all = append(all, r)
	}
	return all
}

func errNoLogins() error {
	return fold.WithHint(fmt.Errorf("nobody can log in here: %w", fold.ErrUnavailable), `set listen = "127.0.0.1:7350" in the user file, then restart the daemon`)
}

// slugs returns the slugs of the named projects, or an error if one does not exist.
func (s *Server) slugs(ctx context.Context, named []string) ([]string, error) {
	slugs := []string{}
	for _, slug := range named {
		p, err := s.handlers.Project(ctx, scopeOf(ctx), slug)
		if err != nil {
			return nil, err
		}
		slugs = append(slugs, p.Slug)
	}
	return slugs, nil
}

// login redirects the browser to a provider. The cookie of the login belongs to the
// address that the provider redirects back to, so a browser that came by another address
// is redirected to that one first.
func (s *Server) login() http.Handler {
	return s.logins("login", func(w http.ResponseWriter, r *http.Request, l *auth.Logins) error {
		if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
			return fmt.Errorf("a login is begun by a person, not by what a page loads: %w", fold.ErrForbidden)
		}
		if at, err := url.Parse(l.URL()); err == nil && !strings.EqualFold(at.Host, r.Host) {
			redirect(w, l.URL()+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return nil
		}
		to, cookies, err := l.Begin(r, r.PathValue("provider"), r.URL.Query().Get("return_to"))
		if err != nil {
			return err
		}
		for _, c := range cookies {
			http.SetCookie(w, c)
		}
		redirect(w, to, http.StatusSeeOther)
		return nil
	})
}

// callback finishes a login, whether it succeeded or not.
func (s *Server) callback() http.Handler {
	return s.logins("loginCallback", func(w http.ResponseWriter, r *http.Request, l *auth.Logins) error {
		to, cookies, err := l.Finish(r, r.PathValue("provider"))
		for _, c := range cookies {
			http.SetCookie(w, c)
		}
		if err != nil {
			return err
		}
		redirect(w, to, http.StatusSeeOther)
		return nil
	})
}

// redirect sends the browser to an address, without telling it where from: what it
// came by may have a code.
func redirect(w http.ResponseWriter, to string, status int) {
	w.Header().Set("Location", to)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
}

func (s *Server) logout() http.Handler {
	return s.logins("logout", func(w http.ResponseWriter, r *http.Request, l *auth.Logins) error {
		if !auth.CallerOf(r.Context()).Browser {
			return fold.WithHint(fmt.Errorf("only a session can log out: %w", fold.ErrInvalid), "revoke a token with: foldwatch token revoke ID")
		}
		cookie, err := l.Logout(r)
		if err != nil {
			return err
		}
		http.SetCookie(w, cookie)
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// logins is a handler that needs logins.
func (s *Server) logins(id string, h func(w http.ResponseWriter, r *http.Request, l *auth.Logins) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := errNoLogins()
		if s.opt.Logins != nil {
			err = h(w, r, s.opt.Logins)
		}
		if err != nil {
			writeProblem(w, s.problemOf(r.Context(), id, err, false).Problem)
		}
	})
}

func (s *Server) resource() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m, ok := s.metadata()
		if !ok {
			writeProblem(w, refusal(http.StatusNotFound, "no provider gives access tokens for this server", "make a token with: foldwatch token create"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m)
	})
}

func (s *Server) metadata() (wire.ResourceMetadata, bool) {
	if s.opt.Logins == nil {
		return wire.ResourceMetadata{}, false
	}
	return s.opt.Logins.Metadata()
}
