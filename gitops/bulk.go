package gitops

import (
	"context"
)

// Hold says whether writes of many files leave their commit to the caller. Until
// then they are in the wal.
func (s *Store) Hold(hold bool) { s.held.Store(hold) }

// Bulk says that many calls of PutMany follow, which are to be one commit: until
// end, commits wait, unless the log grows past bulkBytes. What is acknowledged is
// in the log and durable as ever. End commits what was written, also after an
// error, unless commits are on hold.
func (s *Store) Bulk() (end func(ctx context.Context) error) {
	s.bulks.Add(1)
	return func(ctx context.Context) error {
		if s.bulks.Add(-1) > 0 || s.held.Load() {
			return nil
		}
		_, err := s.Commit(ctx, nil, "")
		return err
	}
}

// batchBytes and batchFiles bound what PutMany holds and syncs at once.
const (
	batchBytes = 16 << 20
	batchFiles = 2000
	// bulkBytes is how much of files the log may hold before a bulk is
	// committed in between: a commit holds all of it three times. That is some
	// 6,000 descriptions.
	bulkBytes = 12 << 20
)

// PutMany writes many files with few syncs and commits them, unless commits are
// on hold: n are written;
// skipped are the paths of those that were not, because the file was neither
// Base nor New. After an error the files counted in n are durable.
func (s *Store) PutMany(ctx context.Context, ws []Write) (n int, skipped []string, err error) {
	done, skipped, err := s.putAll(ctx, ws)
	if _, size := s.wal.Count(); err == nil && !s.held.Load() && (s.bulks.Load() == 0 || size > bulkBytes) {
		_, err = (recorder{s}).commitNow(ctx, done, "")
	}
	s.changed(done)
	return len(done), skipped, err
}

// PutAs is PutMany as one commit of its own with the given subject, which
// [Store.Undo] takes back: what was pending before is committed first. rev is
// empty if nothing was written.
func (s *Store) PutAs(ctx context.Context, ws []Write, subject string) (rev string, done, skipped []string, err error) {
	return s.asOne(ctx, ws, subject, s.putAll)
}

// asOne writes ws by put, as one commit of its own.
func (s *Store) asOne(ctx context.Context, ws []Write, subject string, put func(context.Context, []Write) (done, skipped []string, err error)) (rev string, done, skipped []string, err error) {
	if err := s.writable(); err != nil {
		return "", nil, nil, err
	}
	if ws, err = checked(ws); err != nil {
		return "", nil, nil, err
	}
	s.bulks.Add(1) // no other commit takes a part of them
	defer s.bulks.Add(-1)
	if _, err := (recorder{s}).commitNow(ctx, nil, ""); err != nil {
		return "", nil, nil, err
	}
	done, skipped, err = put(ctx, ws)
	defer func() { s.changed(done) }()
	if err != nil || len(done) == 0 {
		return "", done, skipped, err
	}
	made, err := (recorder{s}).commitNow(ctx, done, subject)
	return made.Oid, done, skipped, err
}

// putAll writes ws and returns the paths of what is durable, also after an error.
func (s *Store) putAll(ctx context.Context, ws []Write) (done, skipped []string, err error) {
	if err := s.writable(); err != nil {
		return nil, nil, err
	}
	// The later of two writes to one path wins.
	if ws, err = checked(ws); err != nil {
		return nil, nil, err
	}
	for len(ws) > 0 {
		if err := ctx.Err(); err != nil {
			return done, skipped, err
		}
		k, size := 0, 0
		for k < len(ws) && k < batchFiles && size < batchBytes && (k == 0 || ws[k].Path != ws[k-1].Path) {
			size += len(ws[k].Base) + len(ws[k].New)
			k++
		}
		wrote, skip, err := s.putBatch(ws[:k])
		done, skipped = append(done, wrote...), append(skipped, skip...)
		if err != nil {
			return done, skipped, err
		}
		ws = ws[k:]
	}
	return done, skipped, nil
}
