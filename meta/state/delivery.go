package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

const (
	// deliveryKept is how long a delivery is known.
	deliveryKept = 24 * time.Hour
	// maxDeliveries is how many are known at once, some 10 MB. Beyond that new ones
	// are refused: to forget one would let it be sent again.
	maxDeliveries = 50_000
	// maxDue is how many of one repository may wait for their work, so that one whose
	// remote cannot be reached leaves room for others. None waits longer than dueKept.
	maxDue  = 1000
	dueKept = 30 * 24 * time.Hour
)

// A Delivery is one webhook that was taken.
type Delivery struct {
	IDs       []string // hashes, 64 hex digits: each is taken once
	CommonDir string   // common git directory of the repository
	At        time.Time
	Work      string // what is to be done about it; "" for nothing
}

// TakeDelivery keeps a delivery for a day. It returns ErrConflict if one of its
// ids is known, and ErrUnavailable where there is no room for it.
func (s *DB) TakeDelivery(ctx context.Context, d Delivery) error {
	return s.db.Write(ctx, "take a delivery", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from deliveries where at < ? and work = '' or at < ?`, sqlite.Micros(d.At.Add(-deliveryKept)), sqlite.Micros(d.At.Add(-dueKept))); err != nil {
			return err
		}
		var known, all, due int
		err := tx.QueryRowContext(ctx, `select count(*) filter (where id in (select value from json_each(?))), count(*),
			count(*) filter (where common_dir = ? and work <> '') from deliveries`, sqlite.List(d.IDs), d.CommonDir).Scan(&known, &all, &due)
		switch {
		case err != nil:
			return err
		case known > 0:
			return fmt.Errorf("it was taken before: %w", fold.ErrConflict)
		case all >= maxDeliveries:
			return fmt.Errorf("%d were taken within a day: %w", all, fold.ErrUnavailable)
		case d.Work != "" && due >= maxDue:
			return fmt.Errorf("%d of the repository wait for a sync: %w", due, fold.ErrUnavailable)
		case len(d.IDs) == 0:
			return errors.New("a delivery without an id")
		}
		for i, id := range d.IDs {
			work := d.Work
			if i > 0 {
				work = ""
			}
			if _, err := tx.ExecContext(ctx, `insert into deliveries (id, common_dir, at, work) values (?, ?, ?, ?)`, id, d.CommonDir, sqlite.Micros(d.At), work); err != nil {
				return err
			}
		}
		return nil
	})
}

// DueDeliveries returns the deliveries of a repository whose work is not done,
// oldest first, each with the one id that DeliveriesDone wants.
func (s *DB) DueDeliveries(ctx context.Context, commonDir string) ([]Delivery, error) {
	var all []Delivery
	err := s.db.Each(ctx, "list deliveries", func(scan func(...any) error) error {
		d := Delivery{CommonDir: commonDir, IDs: make([]string, 1)}
		var at int64
		err := scan(&d.IDs[0], &at, &d.Work)
		d.At = sqlite.Time(at)
		all = append(all, d)
		return err
	}, `select id, at, work from deliveries where common_dir = ? and work <> '' order by at, id`, commonDir)
	return all, err
}

// DeliveriesDone notes that there is nothing left to do about deliveries.
func (s *DB) DeliveriesDone(ctx context.Context, ids []string) error {
	_, err := s.db.Exec(ctx, "finish deliveries", `update deliveries set work = '' where id in (select value from json_each(?))`, sqlite.List(ids))
	return err
}
