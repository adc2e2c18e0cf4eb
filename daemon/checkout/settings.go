package checkout

import (
	"context"
	"encoding/json"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Algorithm is what was set for the project, else what the user file says.
func (co *Checkout) Algorithm() wire.Algorithm {
	cfg := co.Config.For(co.Record.Slug)
	a := wire.Algorithm{StrengthWeight: cfg.StrengthWeight, DecayHalfLifeDays: cfg.DecayHalfLifeDays}
	set, err := co.Shared.State.Settings(context.Background(), co.Record.Slug)
	if err == nil && len(set) > 0 {
		err = json.Unmarshal(set, &a)
	}
	if err != nil {
		co.Log.Warn("Ranking settings not read", "err", err)
	}
	return a
}

// weight is that of strength in the project's blend.
func (co *Checkout) weight() float64 { return co.Algorithm().StrengthWeight }

// allow records that rule was allowed for the memory id.
func (co *Checkout) allow(ctx context.Context, id fold.ID, rule string) error {
	rules, err := co.allowed(ctx, id)
	if err != nil {
		return err
	}
	rules[rule] = true
	b, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	return co.Shared.State.SetFact(ctx, "project:"+co.Record.Slug, "allow:"+string(id), string(b))
}

// allowed returns the secret rules that were allowed for the memory id.
func (co *Checkout) allowed(ctx context.Context, id fold.ID) (map[string]bool, error) {
	text, err := co.Shared.State.Fact(ctx, "project:"+co.Record.Slug, "allow:"+string(id))
	rules := map[string]bool{}
	if err != nil || text == "" {
		return rules, err
	}
	return rules, json.Unmarshal([]byte(text), &rules)
}

// Answered adds to a write's reply why its later stages may be held up.
func (co *Checkout) Answered(r wire.WriteReply, err error) (wire.WriteReply, error) {
	if err != nil {
		return r, err
	}
	switch {
	case co.View().paused:
		r.BlockedReason = "paused: not committed until foldwatch resume"
	case !co.Config.AutoCommit:
		r.BlockedReason = "auto_commit is off"
	case ModeOf(co.View().Record) == ModeTracked:
		r.BlockedReason = blockedInTracked
	default:
		r.BlockedReason = co.View().guarded
	}
	if r.BlockedReason == "" {
		r.BlockedReason = co.Sync.Unpushed()
	}
	return r, nil
}
