// Package jobs runs queued work: it claims a job, keeps its lease, and tries
// again with growing delays what failed.
package jobs
