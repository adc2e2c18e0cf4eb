package local

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
)

// TellConfig says, once, that the configuration cannot be used as it stands. A daemon
// that runs has read another, and answers.
func (d *Daemon) TellConfig() {
	_, err := d.Config.Settings()
	if err == nil || d.told.config {
		return
	}
	d.told.config = true
	all := conf.ErrorList(err)
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more: foldwatch doctor)", n)
	}
	d.Streams.Messages(false).Printf("foldwatch: %v%s; the daemon goes on with what it started with\n", all[0], more)
}

// offerRestart asks a person whether a daemon of another version shall be started
// anew, and returns the one that then runs, nil if none does. Who does not answer
// has the command go on: a program may sit at the terminal. So does a restart that
// fails, once that is said.
func (d *Daemon) offerRestart(ctx context.Context, c Client) Client {
	d.told.restart = false // asked once
	if _, err := d.Config.Settings(); err != nil {
		return c // another would not start
	}
	if d.Streams.Quiet || d.Streams.JSON || !d.Streams.Interactive() || !d.Streams.TTY(d.Streams.Stdout) || !d.Streams.AskWithin(ctx, d.AnswerWithin, "Restart it now?") {
		return c
	}
	st, err := Answer(ctx, d.Timeout, c.Status)
	if err == nil {
		var now Client
		if now, err = d.Restart(ctx, st.PID); err == nil {
			return now
		}
	}
	d.Streams.Messages(true).Printf("foldwatch: the daemon was not restarted: %v\n", err)
	if c, err = d.Dialed(ctx); err != nil {
		return nil
	}
	return c
}

// TellNotices prints what the daemon wants known, such as a project that is
// paused. It never makes a command fail or wait.
func (d *Daemon) TellNotices(ctx context.Context, c Client) {
	if d.Streams.Quiet || d.told.notices {
		return
	}
	d.told.notices = true
	var notices []string
	told := false
	if by, can := c.(interface{ Notices() ([]string, bool) }); can {
		notices, told = by.Notices()
	}
	if !told { // by a daemon of another version
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		st, err := c.Status(ctx)
		if err != nil {
			return
		}
		notices = st.Notices
	}
	for _, n := range notices {
		d.Streams.Messages(false).Printf("foldwatch: %s\n", n)
	}
}
