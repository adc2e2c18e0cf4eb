package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// tokenRoutes are those of a caller's own tokens, under both of their names.
func tokenRoutes() []Route {
	type inToken struct {
		ID string `path:"id" doc:"of the token, not the token"`
	}
	under := func(path, of string) []Route {
		create := answered(Write, "POST", path, "createToken"+of, "Make a token that may at most what the caller may",
			func(ctx context.Context, s *Server, in *inBody[wire.TokenCreate]) (wire.TokenCreated, error) {
				return s.createToken(ctx, in.Body)
			})
		create.Status, create.Secret = http.StatusCreated, true
		list := answered(Read, "GET", path, "tokens"+of, "List the caller's tokens; an administrator of all projects sees every token",
			func(ctx context.Context, s *Server, _ *inNone) (wire.TokenList, error) {
				if s.opt.Tokens == nil {
					return wire.TokenList{}, errNoTokens()
				}
				return s.opt.Tokens.List(auth.CallerOf(ctx)), nil
			})
		list.Never = []int{http.StatusInsufficientStorage}
		revoke := finished(Write, "DELETE", path+"/{id}", "revokeToken"+of, "Revoke a token, and those that were made by it",
			func(ctx context.Context, s *Server, in *inToken) error {
				if s.opt.Tokens == nil {
					return errNoTokens()
				}
				return s.opt.Tokens.Revoke(ctx, auth.CallerOf(ctx), in.ID)
			})
		revoke.Never = []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInsufficientStorage}
		return []Route{create, list, revoke}
	}
	return append(under("/me/tokens", ""), under("/auth/tokens", "OfAuth")...)
}

func errNoTokens() error { return fmt.Errorf("no tokens are kept here: %w", fold.ErrUnavailable) }

// createToken creates a token for existing projects.
func (s *Server) createToken(ctx context.Context, in wire.TokenCreate) (wire.TokenCreated, error) {
	if s.opt.Tokens == nil {
		return wire.TokenCreated{}, errNoTokens()
	}
	slugs, err := s.slugs(ctx, in.Projects)
	if err != nil {
		return wire.TokenCreated{}, err
	}
	in.Projects = slugs
	return s.opt.Tokens.Create(ctx, auth.CallerOf(ctx), in)
}
