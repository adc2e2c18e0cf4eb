package ingest

import (
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
)

// The names by which package daemon knows what lower packages define.
type (
	Progress      = progress.Func
	Step          = progress.Step
	Report        = progress.Report
	Counters      = progress.Counters
	Cutter        = cut.Cutter
	Cuts          = cut.Once
	TipOptions    = tip.DescribeOptions
	CommitOptions = tip.CommitOptions
)
