// Package local knows this machine: the settings of its user, and the daemon, which it
// finds, starts and restarts.
package local

import (
	"context"
)

// Connect returns a client of the daemon, which is started if none runs and
// auto_start allows it. It tells, once, when the daemon is of another version
// and what the daemon wants people to know.
func (d *Daemon) Connect(ctx context.Context) (Client, error) {
	c, err := d.Running(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		if c, err = d.Start(ctx); err != nil {
			return nil, err
		}
	}
	d.TellConfig()
	if d.told.restart {
		c = d.offerRestart(ctx, c)
		if c == nil { // the old one ended, and the new one did not start
			if c, err = d.Start(ctx); err != nil {
				return nil, err
			}
		}
	}
	d.TellNotices(ctx, c)
	return c, nil
}
