package vecindex

import (
	"context"
	"errors"
)

// byCoder is nothing here: github.com/coder/hnsw does not build on Windows (its
// issue 24).
type byCoder struct{}

const coderAvailable = false

func (*byCoder) name() string                       { return CoderGraph }
func (*byCoder) efforts() []int                     { return nil }
func (*byCoder) fits(*table) bool                   { return false }
func (*byCoder) broken() bool                       { return false }
func (*byCoder) covers() int                        { return 0 }
func (*byCoder) propose(*table, *ask, int, int) top { return nil }

func buildCoder(context.Context, *table, int) (*byCoder, error) {
	return nil, errors.New("coder/hnsw is not to be had on Windows")
}
