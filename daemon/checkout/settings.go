package checkout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// Algorithm is what was set for the project, else what the user file says.
func (co *Checkout) Algorithm() wire.Algorithm {
	cfg := co.Config.For(co.Record.Slug)
	a := wire.Algorithm{StrengthWeight: cfg.StrengthWeight, DecayHalfLifeDays: cfg.DecayHalfLifeDays}
	set, err := co.State.Settings(context.Background(), co.Record.Slug)
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
	return co.State.SetFact(ctx, "project:"+co.Record.Slug, "allow:"+string(id), string(b))
}

// allowed returns the secret rules that were allowed for the memory id.
func (co *Checkout) allowed(ctx context.Context, id fold.ID) (map[string]bool, error) {
	text, err := co.State.Fact(ctx, "project:"+co.Record.Slug, "allow:"+string(id))
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

// CheckFile is the gate before a commit (git.md G7): why the file at path may
// not enter the journal, or nil.
func (co *Checkout) CheckFile(path string, b []byte) error {
	if path == conf.ProjectFile {
		_, _, err := conf.ParseProject(b)
		return err
	}
	if co.Faults != nil {
		if err := co.Faults("check"); err != nil {
			return err
		}
	}
	m, err := fold.Decode(co.Record.Slug, path, b)
	if err != nil {
		return err
	}
	findings := secret.Scan(b)
	if len(findings) == 0 {
		return nil
	}
	allowed, err := co.allowed(context.Background(), m.ID)
	if err != nil {
		allowed = nil
	}
	for _, f := range findings {
		if !allowed[f.Rule] {
			return fmt.Errorf("line %d holds a credential (rule %s): %w", f.Line, f.Rule, fold.ErrSecret)
		}
	}
	return nil
}

// rulesFor joins what user file, registration and project file say: the user
// decides where descriptions go, the project file only where the user does not.
func (co *Checkout) rulesFor(p conf.Project) selection.Rules {
	cfg := co.Config.For(co.Record.Slug)
	mode := cfg.FileMemories
	if p.FileMemories != "" && !co.Config.Sets(co.Record.Slug, "file_memories", co.Origins) {
		mode = p.FileMemories
	}
	rec := co.View().Record
	if rec.FileMemories != "" {
		mode = rec.FileMemories
	}
	if ModeOf(rec) == ModeTracked {
		mode = "local" // files are made when somebody asks for them (git.md T7)
	}
	return selection.Rules{Include: p.Include, Exclude: p.Exclude, FileMemories: mode}
}
