package checkout

import (
	"errors"

	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// Stores are the derived stores of one checkout, opened, and the two services on
// them: the way out and the way in.
type Stores struct {
	*RepoHandle
	Index   *index.DB
	Text    *textindex.Index
	Recall  *recall.Service
	Writes  *remember.Service
	Vectors embedding.Set
}

// begun reports whether something of the stores was begun anew when they were
// opened.
func (st *Stores) begun() bool {
	return st.Index.Rebuilt != "" || st.Text.Rebuilt != "" || st.Vectors.Serving().Index.Rebuilt != ""
}

// close closes what was opened, also when only part of it was.
func (st *Stores) close() error {
	errs := []error{st.Vectors.Close()}
	if st.Text != nil {
		errs = append(errs, st.Text.Close())
	}
	if st.Index != nil {
		errs = append(errs, st.Index.Close())
	}
	return errors.Join(errs...)
}
