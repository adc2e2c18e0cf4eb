package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// defaultProject returns the project meant where none is named. Without one it
// returns an ErrInvalid that lists the slugs there are.
func defaultProject(ctx context.Context, doors Doors, sc fold.Scope, h http.Header) (string, error) {
	if slug := h.Get(headerProject); slug != "" {
		return slug, nil
	}
	path, err := url.PathUnescape(h.Get(headerPath))
	if err == nil && path != "" {
		slug, err := doors.ProjectOfPath(ctx, sc, path)
		if err == nil {
			return slug, nil
		}
		if !errors.Is(err, fold.ErrNotFound) {
			return "", err
		}
	}
	list, err := doors.Projects(ctx, sc)
	if err != nil {
		return "", err
	}
	switch len(list.Items) {
	case 0:
		return "", fold.WithHint(fmt.Errorf("no project is registered: %w", fold.ErrNotFound), "ask the user to run: foldwatch up PATH")
	case 1:
		return list.Items[0].Slug, nil
	}
	slugs := make([]string, 0, len(list.Items))
	for i, p := range list.Items {
		if i == 50 {
			slugs = append(slugs, "… (project_list has all)")
			break
		}
		slugs = append(slugs, p.Slug)
	}
	return "", fmt.Errorf("several projects exist and none was named; pass project, one of: %s: %w", strings.Join(slugs, ", "), fold.ErrInvalid)
}
