package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Budget is what may be sent to a provider in one day, by all projects together. Zero
// is no limit.
type Budget struct {
	Texts  int64
	Tokens int64 // estimated: 3 bytes a token
}

// Spent is what was sent in one day.
type Spent struct {
	Day    string `json:"day"` // 2006-01-02, in UTC
	Texts  int64  `json:"texts"`
	Tokens int64  `json:"tokens"`
}

// A Ledger stores what was spent, so that a restart does not reset the budget.
type Ledger interface {
	Spent(ctx context.Context, provider string) (Spent, error)
	SetSpent(ctx context.Context, provider string, s Spent) error
}

// spend takes a call out of the day's budget. It returns ErrUnavailable if not enough is
// left.
func (c *Client) spend(ctx context.Context, call Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read && c.opt.Ledger != nil {
		s, err := c.opt.Ledger.Spent(ctx, c.opt.Name)
		if err != nil {
			return err
		}
		c.spent, c.read = s, true
	}
	today := c.opt.Now().UTC().Format(time.DateOnly)
	s := c.spent
	if s.Day != today {
		s = Spent{Day: today}
	}
	s.Texts += int64(call.Texts)
	s.Tokens += int64(call.Tokens)
	for _, l := range []struct {
		what, key   string
		spent, most int64
	}{{"texts", "daily_texts", s.Texts, c.opt.Daily.Texts}, {"tokens", "daily_tokens", s.Tokens, c.opt.Daily.Tokens}} {
		if l.most > 0 && l.spent > l.most {
			return fold.WithHint(
				fmt.Errorf("provider %s: the %d %s of today are spent, it goes on tomorrow (UTC): %w", c.opt.Name, l.most, l.what, fold.ErrUnavailable),
				fmt.Sprintf("raise %s under [providers.%s] in config.toml", l.key, c.opt.Name))
		}
	}
	if c.opt.Ledger != nil {
		if err := c.opt.Ledger.SetSpent(ctx, c.opt.Name, s); err != nil {
			return err
		}
	}
	c.spent = s
	return nil
}

// Spent returns what was sent today.
func (c *Client) Spent(ctx context.Context) (Spent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spent
	if !c.read && c.opt.Ledger != nil {
		var err error
		if s, err = c.opt.Ledger.Spent(ctx, c.opt.Name); err != nil {
			return Spent{}, err
		}
		c.spent, c.read = s, true
	}
	if today := c.opt.Now().UTC().Format(time.DateOnly); s.Day != today {
		s = Spent{Day: today}
	}
	return s, nil
}
