package recall

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// lentAtOnce is how many doors one search has open at a time: opening stores is
// mostly waiting for files, and four of the places a daemon has are a quarter.
const lentAtOnce = 4

// A Lender opens the stores of one checkout. A search asks for each door twice, to
// find, and to show what was found, a third time where that counts as read, and for
// some at a time: those that are ready before the others, which may need the places
// of those.
type Lender struct {
	Project string // slug; each lender of a search has another
	// Lend returns the door to the stores, and what closes it again. It is called
	// from several goroutines, each of which has one door at most.
	Lend func(ctx context.Context) (d *Door, done func(), err error)
	// Ready reports whether the stores are open already. Nil says they are.
	Ready func() bool
}

// visit calls fn with the door of each of the lenders at which it is asked for, in
// no order that an answer may depend on. It is no error if one cannot be opened,
// unless ctx has ended.
func visit(ctx context.Context, doors []Lender, asked func(i int) bool, fn func(ctx context.Context, i int, d *Door) error) error {
	var ready, resting []int
	for i, l := range doors {
		switch {
		case !asked(i):
		case l.Ready == nil || l.Ready():
			ready = append(ready, i)
		default:
			resting = append(resting, i)
		}
	}
	order := append(ready, resting...)
	if len(order) == 1 { // as in a search of one project
		return lent(ctx, doors[order[0]], func(d *Door) error { return fn(ctx, order[0], d) })
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lentAtOnce)
	for _, i := range order {
		g.Go(func() error { return lent(ctx, doors[i], func(d *Door) error { return fn(ctx, i, d) }) })
	}
	return g.Wait()
}

// lent calls fn with the door that l opens. It is no error if that cannot be,
// unless ctx has ended.
func lent(ctx context.Context, l Lender, fn func(*Door) error) error {
	d, done, err := l.Lend(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil
	}
	defer done()
	return fn(d)
}

// A part is what one of the doors has to say to a search. That of one which could
// not be opened is zero.
type part struct {
	slug     string
	found    rank.Candidates
	past     []voter
	present  []presence          // of each word asked for
	beside   map[fold.ID]fold.ID // see [rank.Candidates]
	strength float64             // how much it counts
	table    rank.Weights
	fusion   string
	touch    bool // what is returned counts as read
}

func projectsOf(doors []Lender) []string {
	slugs := make([]string, len(doors))
	for i := range doors {
		slugs[i] = doors[i].Project
	}
	return slugs
}

// gatherAll asks all doors for what they find, under ids and keys that tell which
// one has it where there are several. It sets the time of a cursor that has none.
func gatherAll(ctx context.Context, doors []Lender, req wire.SearchRequest, asked []askedWord, f textindex.Filter, channels Channels, cursor *wire.SearchCursor) (rank.Candidates, []part, error) {
	parts := make([]part, len(doors))
	var clock sync.Once
	err := visit(ctx, doors, func(int) bool { return true }, func(ctx context.Context, i int, d *Door) error {
		clock.Do(func() {
			if cursor.At.IsZero() {
				cursor.At = d.Now().Truncate(time.Millisecond)
			}
		})
		c, like, present, err := d.gather(ctx, req, asked, f, channels, cursor.At)
		if err != nil {
			return fmt.Errorf("search %s: %w", d.Slug, err)
		}
		parts[i] = part{slug: d.Slug, found: c, past: like, present: present, beside: c.Beside, strength: d.StrengthWeight(), table: d.meaning.Load().weights(), fusion: d.Fusion, touch: d.TouchOnSearch}
		return nil
	})
	if err != nil || len(doors) == 1 {
		return parts[0].found, parts, err
	}
	var all rank.Candidates
	for i, p := range parts {
		merge(&all, tagged(i, p.found))
		parts[i].found = rank.Candidates{}
	}
	return all, parts, nil
}

// showAll returns what a reader sees of the ranked memories that pass the filter, by
// door. The map of a door that was not open is nil.
func showAll(ctx context.Context, doors []Lender, ranked []rank.Ranked, req wire.SearchRequest, f textindex.Filter, parts []part, look *lookout) ([]map[fold.ID]wire.SearchResult, error) {
	byDoor := make([][]rank.Ranked, len(doors))
	for _, r := range ranked {
		i, bare := untagged(r)
		byDoor[i] = append(byDoor[i], bare)
	}
	shown := make([]map[fold.ID]wire.SearchResult, len(doors))
	return shown, visit(ctx, doors, func(i int) bool { return len(byDoor[i]) > 0 }, func(ctx context.Context, i int, d *Door) error {
		shown[i] = map[fold.ID]wire.SearchResult{}
		if err := d.show(ctx, byDoor[i], req, f, &parts[i], look, shown[i]); err != nil {
			return fmt.Errorf("search %s: %w", d.Slug, err)
		}
		return nil
	})
}

// touchAll notes that the first returned of page that are shown were read, at the doors
// that count searches.
func touchAll(ctx context.Context, doors []Lender, page []rank.Ranked, shown []map[fold.ID]wire.SearchResult, returned int, parts []part) error {
	read := make([][]fold.ID, len(doors))
	for _, r := range page {
		i, id := untag(r.ID)
		if _, ok := shown[i][id]; !ok {
			continue
		}
		if returned--; returned < 0 {
			break
		}
		if parts[i].touch {
			read[i] = append(read[i], id)
		}
	}
	return visit(ctx, doors, func(i int) bool { return len(read[i]) > 0 }, func(ctx context.Context, i int, d *Door) error {
		for _, id := range read[i] {
			if err := d.State.Touch(ctx, d.Slug, id, d.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}
