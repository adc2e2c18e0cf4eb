package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func headerOf(extra *sdk.RequestExtra) http.Header {
	if extra == nil {
		return nil
	}
	return extra.Header
}

func (s *Server) addPrompts() {
	project := &sdk.PromptArgument{Name: "project", Title: "Project", Description: "slug; default: the project you work in"}
	s.mcp.AddPrompt(&sdk.Prompt{
		Name: "orient", Title: "Orient in the project", Description: "State of the project and what was decided and found last.",
		Arguments: []*sdk.PromptArgument{project},
	}, s.prompt(s.orient))
	s.mcp.AddPrompt(&sdk.Prompt{
		Name: "recall", Title: "Recall", Description: "What the project's memory has about a question.",
		Arguments: []*sdk.PromptArgument{{Name: "query", Title: "Question", Required: true}, project},
	}, s.prompt(s.recall))
	s.mcp.AddPrompt(&sdk.Prompt{
		Name: "remember_decision", Title: "Remember a decision", Description: "Writes down a decision with its reasons.",
		Arguments: []*sdk.PromptArgument{{Name: "decision", Title: "Decision", Required: true}, {Name: "why", Title: "Reasons"}, project},
	}, s.prompt(rememberDecision))
}

// prompt makes a handler of a function that writes the text of a prompt for a
// project.
func (s *Server) prompt(write func(ctx context.Context, sc fold.Scope, slug string, args map[string]string) (string, error)) sdk.PromptHandler {
	return func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		sc, slug := s.scope(req.Extra), req.Params.Arguments["project"]
		if slug == "" {
			var err error
			if slug, err = defaultProject(ctx, s.handlers, sc, headerOf(req.Extra)); err != nil {
				return nil, s.hide(ctx, req.Params.Name, err)
			}
		}
		text, err := write(ctx, sc, slug, req.Params.Arguments)
		if err != nil {
			return nil, s.hide(ctx, req.Params.Name, err)
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
	}
}

func (s *Server) orient(ctx context.Context, sc fold.Scope, slug string, _ map[string]string) (string, error) {
	p, err := s.handlers.Prime(ctx, sc, slug, wire.PrimeQuery{})
	return p.Text, err
}

func (s *Server) recall(ctx context.Context, sc fold.Scope, slug string, args map[string]string) (string, error) {
	query := strings.TrimSpace(args["query"])
	if query == "" {
		return "", fmt.Errorf("recall needs a query: %w", fold.ErrInvalid)
	}
	r, err := s.handlers.Search(ctx, sc, slug, wire.SearchRequest{Query: query, Limit: 10})
	if err != nil {
		return "", err
	}
	_, text := fit(len(r.Results), func(snippet, n int) (found, string) { return foundText("memory_search", slug, r, snippet, n) })
	return "Answer from the project's memory, and name the ids you used: " + plain(query) + "\n\n" + text, nil
}

func rememberDecision(_ context.Context, _ fold.Scope, slug string, args map[string]string) (string, error) {
	decision := strings.TrimSpace(plain(args["decision"]))
	if decision == "" {
		return "", fmt.Errorf("remember_decision needs a decision: %w", fold.ErrInvalid)
	}
	why := strings.TrimSpace(plain(args["why"]))
	if why == "" {
		why = "(ask me if they do not follow from our conversation)"
	}
	return fmt.Sprintf(`Write this decision into the memory of project %s.

Decision: %s
Reasons: %s

First search (memory_search, type decision) for an earlier decision about the same. If there is one, update it or add the new one with a link of type supersedes.
Then call memory_add with type "decision", a title of at most 100 characters, and a text with the decision, its reasons, what else was considered, and the files it concerns.
`, slug, decision, why), nil
}
