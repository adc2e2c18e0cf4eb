package checkout

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestOpeningsBackOff shows how long a checkout waits that cannot be opened.
func TestOpeningsBackOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	type end struct {
		took           time.Duration
		err            error
		damaged, asked bool
	}
	const none = -1
	for name, tc := range map[string]struct {
		ends []end
		want time.Duration // after the last of them
	}{
		"a failure":                  {[]end{{err: broken}}, time.Second},
		"a third":                    {[]end{{err: broken}, {err: broken}, {err: broken}}, 4 * time.Second},
		"a hundredth":                {make([]end, 100), time.Minute},
		"the folder is not there":    {[]end{8: {err: os.ErrNotExist}}, 30 * time.Second},
		"asked for":                  {[]end{{asked: true}}, none},
		"after one that was asked":   {[]end{{err: broken}, {err: broken}, {asked: true}, {err: broken}}, time.Second},
		"after a time in good order": {[]end{{err: broken}, {err: broken}, {took: time.Hour, err: broken}}, time.Second},
		"damage":                     {[]end{{err: broken, damaged: true, asked: true}}, none},
		"damage again":               {[]end{{err: broken, damaged: true}, {err: broken, damaged: true}}, 2 * time.Second},
		"damage after a failure":     {[]end{{err: broken}, {err: broken, damaged: true}}, 2 * time.Second},
		"damage now and then":        {[]end{{err: broken, damaged: true}, {took: time.Hour, err: broken, damaged: true}}, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o openings
			var wait time.Duration
			failed := false
			for _, e := range tc.ends {
				wait, failed = o.ended(e.took, e.err, e.damaged, e.asked)
			}
			if !failed {
				wait = none
			}
			if wait != tc.want {
				t.Errorf("waits %v, want %v", wait, tc.want)
			}
		})
	}
}
