package daemon

import (
	"context"
	"encoding/json"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// algorithm is what was set for the project, else what the user file says.
func (co *checkout) algorithm() wire.Algorithm {
	cfg := co.cfg.For(co.rec.Slug)
	a := wire.Algorithm{StrengthWeight: cfg.StrengthWeight, DecayHalfLifeDays: cfg.DecayHalfLifeDays}
	set, err := co.parts.state.Settings(context.Background(), co.rec.Slug)
	if err == nil && len(set) > 0 {
		err = json.Unmarshal(set, &a)
	}
	if err != nil {
		co.log.Warn("Ranking settings not read", "err", err)
	}
	return a
}

// weight is that of strength in the project's blend.
func (co *checkout) weight() float64 { return co.algorithm().StrengthWeight }

// allow records that rule was allowed for the memory id.
func (co *checkout) allow(ctx context.Context, id fold.ID, rule string) error {
	rules, err := co.allowed(ctx, id)
	if err != nil {
		return err
	}
	rules[rule] = true
	b, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	return co.parts.state.SetFact(ctx, "project:"+co.rec.Slug, "allow:"+string(id), string(b))
}

// allowed returns the secret rules that were allowed for the memory id.
func (co *checkout) allowed(ctx context.Context, id fold.ID) (map[string]bool, error) {
	text, err := co.parts.state.Fact(ctx, "project:"+co.rec.Slug, "allow:"+string(id))
	rules := map[string]bool{}
	if err != nil || text == "" {
		return rules, err
	}
	return rules, json.Unmarshal([]byte(text), &rules)
}

// answered adds to a write's reply why its later stages may be held up.
func (co *checkout) answered(r wire.WriteReply, err error) (wire.WriteReply, error) {
	if err != nil {
		return r, err
	}
	switch {
	case co.view().paused:
		r.BlockedReason = "paused: not committed until foldwatch resume"
	case !co.cfg.AutoCommit:
		r.BlockedReason = "auto_commit is off"
	case modeOf(co.view().rec) == modeTracked:
		r.BlockedReason = blockedInTracked
	default:
		r.BlockedReason = co.view().guarded
	}
	if r.BlockedReason == "" {
		r.BlockedReason = co.sync.Unpushed()
	}
	return r, nil
}
