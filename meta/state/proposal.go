package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// ProposalKind says what a proposal would do.
type ProposalKind string

// What can be proposed.
const (
	ProposeLink     ProposalKind = "link"     // the first memory links to the second
	ProposeAnnotate ProposalKind = "annotate" // the first memory gets another context, and tags
	ProposeMerge    ProposalKind = "merge"    // the first memory takes in the second, which it supersedes
)

// ProposalState says what became of a proposal.
type ProposalState string

// What becomes of a proposal.
const (
	ProposalOpen     ProposalState = "open"
	ProposalAccepted ProposalState = "accepted"
	ProposalRejected ProposalState = "rejected"
)

// A ProposalEnd is a memory that a proposal is about, and the content hash of its
// file when the proposal was made. A memory that has another one by now was not what
// the proposal is about.
type ProposalEnd struct {
	ID   fold.ID `json:"id"`
	Hash string  `json:"hash"`
}

// A Proposal is a change of memories that waits for a decision, or had one. Losing
// it loses no memory: it can be made again.
type Proposal struct {
	ID         string // see [fold.ProposalID]: the same one again has the same id
	Kind       ProposalKind
	Maker      string        // who made it: consolidation, or a model
	Memories   []ProposalEnd // two; one of an annotate. The first is the one that changes
	Confidence float64       // 0–1
	State      ProposalState
	CreatedAt  time.Time
	DecidedAt  time.Time // zero while open
	DecidedBy  string    // "" is the owner

	ProposalBody
}

// ProposalBody is what a proposal says, as it is stored.
type ProposalBody struct {
	Reason   string   `json:"reason"`
	Evidence string   `json:"evidence,omitempty"`
	LinkType string   `json:"link_type,omitempty"` // of a link
	Context  string   `json:"context,omitempty"`   // of a link: why; of an annotate: the new one
	Tags     []string `json:"tags,omitempty"`      // of an annotate: to be added
}

// A ProposalCursor is where a page of proposals begins: behind the one it names.
// The zero cursor is the beginning.
type ProposalCursor struct {
	CreatedAt time.Time
	ID        string
}

// String returns the cursor as text, opaque to callers; "" for the beginning.
func (c ProposalCursor) String() string {
	if c.ID == "" {
		return ""
	}
	return strconv.FormatInt(sqlite.Micros(c.CreatedAt), 36) + "-" + c.ID
}

// ParseProposalCursor reads what String returned. It returns ErrInvalid for
// anything else.
func ParseProposalCursor(s string) (ProposalCursor, error) {
	if s == "" {
		return ProposalCursor{}, nil
	}
	at, id, _ := strings.Cut(s, "-")
	us, err := strconv.ParseInt(at, 36, 64)
	if _, ierr := fold.ParseID(id); err != nil || ierr != nil || us < 0 {
		return ProposalCursor{}, fmt.Errorf("cursor %.40q: give the next_cursor of the page before: %w", s, fold.ErrInvalid)
	}
	return ProposalCursor{CreatedAt: sqlite.Time(us), ID: id}, nil
}

const proposalColumns = `id, kind, maker, memories, body, confidence, state, created_at, decided_at, decided_by`

func scanProposal(scan func(...any) error) (Proposal, error) {
	var p Proposal
	var memories, body string
	var created, decided int64
	err := scan(&p.ID, &p.Kind, &p.Maker, &memories, &body, &p.Confidence, &p.State, &created, &decided, &p.DecidedBy)
	if err != nil {
		return p, err
	}
	p.CreatedAt, p.DecidedAt = sqlite.Time(created), sqlite.Time(decided)
	if err := errors.Join(json.Unmarshal([]byte(memories), &p.Memories), json.Unmarshal([]byte(body), &p.ProposalBody)); err != nil {
		return p, fmt.Errorf("proposal %s: %w: %w", p.ID, sqlite.ErrDamaged, err)
	}
	return p, nil
}

// PutProposals stores proposals of a project that are open, at most most of them
// beside each other. One that is stored already is brought up to date while it is
// open, and left as it is once it was decided. It returns how many are new.
func (s *DB) PutProposals(ctx context.Context, slug string, ps []Proposal, most int) (added int, err error) {
	if len(ps) == 0 {
		return 0, nil
	}
	err = s.db.Write(ctx, "put proposals of "+slug, func(tx *sql.Tx) error {
		added = 0
		var open int
		if err := tx.QueryRowContext(ctx, `select count(*) from proposals where slug = ? and state = 'open'`, slug).Scan(&open); err != nil {
			return err
		}
		for _, p := range ps {
			memories, err := json.Marshal(p.Memories)
			if err != nil {
				return err
			}
			body, err := json.Marshal(p.ProposalBody)
			if err != nil {
				return err
			}
			var known bool
			if err := tx.QueryRowContext(ctx, `select exists (select 1 from proposals where slug = ? and id = ?)`, slug, p.ID).Scan(&known); err != nil {
				return err
			}
			if !known && open+added >= most {
				continue
			}
			_, err = tx.ExecContext(ctx, `insert into proposals (slug, `+proposalColumns+`) values (?, ?, ?, ?, ?, ?, ?, 'open', ?, 0, '')
				on conflict do update set maker = excluded.maker, memories = excluded.memories, body = excluded.body, confidence = excluded.confidence
				where state = 'open'`,
				slug, p.ID, string(p.Kind), p.Maker, string(memories), string(body), p.Confidence, sqlite.Micros(p.CreatedAt))
			if err != nil {
				return err
			}
			if !known {
				added++
			}
		}
		return nil
	})
	return added, err
}

// Proposals returns the proposals of a project behind after, newest first: at most
// limit, of one state, or of all where that is "".
func (s *DB) Proposals(ctx context.Context, slug string, state ProposalState, after ProposalCursor, limit int) ([]Proposal, error) {
	var all []Proposal
	err := s.db.Each(ctx, "list proposals of "+slug, func(scan func(...any) error) error {
		p, err := scanProposal(scan)
		all = append(all, p)
		return err
	}, `select `+proposalColumns+` from proposals where slug = ?1 and (?2 = '' or state = ?2)
			and (?4 = '' or created_at < ?3 or created_at = ?3 and id > ?4)
		order by created_at desc, id limit ?5`, slug, string(state), sqlite.Micros(after.CreatedAt), after.ID, limit)
	return all, err
}

// Proposal returns the proposal of a project that id names: all of an id, or the
// beginning of exactly one. It returns ErrNotFound where there is none, and
// ErrInvalid where several begin so.
func (s *DB) Proposal(ctx context.Context, slug, id string) (Proposal, error) {
	var found []Proposal
	err := s.db.Each(ctx, "read proposal "+id, func(scan func(...any) error) error {
		p, err := scanProposal(scan)
		found = append(found, p)
		return err
	}, `select `+proposalColumns+` from proposals where slug = ?1 and id >= ?2 and id < ?2 || 'g' order by id limit 2`, slug, id)
	switch {
	case err != nil:
		return Proposal{}, err
	case len(found) == 0:
		return Proposal{}, fmt.Errorf("proposal %.40s: %w", id, fold.ErrNotFound)
	case len(found) > 1:
		return Proposal{}, fmt.Errorf("more than one proposal begins with %s: %w", id, fold.ErrInvalid)
	}
	return found[0], nil
}

// OpenProposals returns how many proposals of a project wait for a decision.
func (s *DB) OpenProposals(ctx context.Context, slug string) (n int, err error) {
	err = s.db.Each(ctx, "count proposals of "+slug, func(scan func(...any) error) error { return scan(&n) },
		`select count(*) from proposals where slug = ? and state = 'open'`, slug)
	return n, err
}

// DecideProposal notes a decision. It returns ErrConflict where there was one
// before, or the proposal is gone.
func (s *DB) DecideProposal(ctx context.Context, slug, id string, state ProposalState, by string, at time.Time) error {
	n, err := s.db.Exec(ctx, "decide proposal "+id, `update proposals set state = ?, decided_by = ?, decided_at = ?
		where slug = ? and id = ? and state = 'open'`, string(state), by, sqlite.Micros(at), slug, id)
	if err == nil && n == 0 {
		return fmt.Errorf("proposal %s was decided meanwhile: %w", id, fold.ErrConflict)
	}
	return err
}

// DropProposals forgets open proposals that are not true any more.
func (s *DB) DropProposals(ctx context.Context, slug string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := s.db.Exec(ctx, "drop proposals of "+slug, `delete from proposals where slug = ? and state = 'open'
		and id in (select value from json_each(?))`, slug, sqlite.List(ids))
	return err
}

// ForgetProposals forgets all proposals of a project, and what was decided.
func (s *DB) ForgetProposals(ctx context.Context, slug string) error {
	_, err := s.db.Exec(ctx, "forget proposals of "+slug, `delete from proposals where slug = ?`, slug)
	return err
}
