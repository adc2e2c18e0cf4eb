package wire_test

import (
	"errors"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func FuzzSearchCursor(f *testing.F) {
	f.Add("0-0-00000000")
	f.Add(wire.SearchCursor{Offset: 7, At: time.UnixMilli(1 << 40), Of: 1}.String())
	f.Add("-1-zz-")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := wire.ParseSearchCursor(text)
		if err != nil {
			if !errors.Is(err, fold.ErrInvalid) {
				t.Errorf("ParseSearchCursor(%q): %v", text, err)
			}
			return
		}
		again, err := wire.ParseSearchCursor(c.String())
		if err != nil || again != c || c.Offset < 0 {
			t.Errorf("ParseSearchCursor(%q) = %+v, written %q, read as %+v, %v", text, c, c, again, err)
		}
	})
}
