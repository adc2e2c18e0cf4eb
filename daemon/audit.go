package daemon

import (
	"context"
	"fmt"
	"strconv"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// How many requests one answer lists.
const (
	auditPage = 50
	auditMost = 1000
)

// Audit lists the requests that left this machine, newest first: those on behalf of
// projects that the caller may read. A page may have fewer than it could.
func (d *Daemon) Audit(ctx context.Context, sc fold.Scope, in wire.AuditQuery) (wire.AuditList, error) {
	list := wire.AuditList{Items: []wire.AuditLine{}}
	if in.Project != "" && !sc.CanRead(in.Project) {
		return list, fmt.Errorf("project %.60q: %w", in.Project, fold.ErrNotFound)
	}
	var before int64
	if in.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || before <= 0 {
			return list, fmt.Errorf("cursor %.20q: %w", in.Cursor, fold.ErrInvalid)
		}
	}
	if in.Limit <= 0 {
		in.Limit = auditPage
	}
	in.Limit = min(in.Limit, auditMost)
	all, err := d.parts.State.Audits(ctx, in.Project, before, in.Limit+1)
	if err != nil {
		return list, err
	}
	for _, a := range all[:min(len(all), in.Limit)] {
		if !sc.CanRead(a.Slug) {
			continue
		}
		list.Items = append(list.Items, wire.AuditLine{At: a.At, Project: a.Slug, Host: a.Host, Action: a.Action, Bytes: a.Bytes, Outcome: a.Outcome})
	}
	if len(all) > in.Limit {
		list.NextCursor = strconv.FormatInt(all[in.Limit-1].N, 10)
	}
	return list, nil
}
