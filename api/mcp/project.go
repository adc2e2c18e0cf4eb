package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// defaultProject returns the project of a call that names none: that of the checkout which
// contains the caller's folder, or ErrNotFound with a hint how to register it. If the
// folder is not known, as over HTTP, it is the only project; if there are several, it
// returns an ErrInvalid that lists them.
func defaultProject(ctx context.Context, handlers Handlers, sc fold.Scope, h http.Header) (string, error) {
	if slug := h.Get(headerProject); slug != "" {
		return slug, nil
	}
	path, err := url.PathUnescape(h.Get(headerPath))
	if err != nil {
		return "", fmt.Errorf("header %s: %w: %w", headerPath, fold.ErrInvalid, err)
	}
	if path != "" {
		slug, err := handlers.ProjectOfPath(ctx, sc, path)
		if !errors.Is(err, fold.ErrNotFound) {
			return slug, err
		}
	}
	list, err := handlers.Projects(ctx, sc)
	if err != nil {
		return "", err
	}
	slugs := make([]string, 0, len(list.Items))
	for i, p := range list.Items {
		if i == 50 {
			slugs = append(slugs, "… (project_list has all)")
			break
		}
		slugs = append(slugs, p.Slug)
	}
	switch {
	case len(slugs) == 0:
		return "", fold.WithHint(fmt.Errorf("no project is registered: %w", fold.ErrNotFound), "ask the user to run: foldwatch up "+strconv.Quote(cmp.Or(path, "PATH")))
	case path != "":
		return "", fold.WithHint(fmt.Errorf("%s is in no registered checkout: %w", path, fold.ErrNotFound),
			"ask the user to run: foldwatch up "+strconv.Quote(path)+"; or pass project, one of: "+strings.Join(slugs, ", "))
	case len(slugs) == 1:
		return slugs[0], nil
	}
	return "", fmt.Errorf("several projects exist and none was named; pass project, one of: %s: %w", strings.Join(slugs, ", "), fold.ErrInvalid)
}
