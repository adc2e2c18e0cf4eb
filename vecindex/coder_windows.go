package vecindex

import (
	"context"
	"errors"
)

// buildCoder fails: github.com/coder/hnsw does not build on Windows (its issue 24).
func buildCoder(context.Context, *table) (engine, error) {
	return nil, errors.New("coder-hnsw does not exist on Windows")
}
