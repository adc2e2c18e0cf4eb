package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Commit is a past commit of the default branch: who searches for something like
// its message is likely looking for its files.
type Commit struct {
	Oid     string
	Message string
	Files   []string // paths with forward slashes
}

// CommitsTip returns the commit up to which the history was read, "" if none was.
func (x *DB) CommitsTip(ctx context.Context) (string, error) {
	var tip string
	err := x.db.Row(ctx, "commits tip", `select value from meta where key = 'commits'`).Scan(&tip)
	if errors.Is(err, fold.ErrNotFound) {
		return "", nil
	}
	return tip, err
}

// Commits returns the stored commits, oldest first, and the tip they lead to.
func (x *DB) Commits(ctx context.Context) (tip string, commits []Commit, err error) {
	if tip, err = x.CommitsTip(ctx); err != nil || tip == "" {
		return tip, nil, err
	}
	err = x.db.Each(ctx, "read commits", func(scan func(...any) error) error {
		var c Commit
		var files string
		if err := scan(&c.Oid, &c.Message, &files); err != nil {
			return err
		}
		commits = append(commits, c)
		return json.Unmarshal([]byte(files), &commits[len(commits)-1].Files)
	}, `select oid, message, files from commits order by n`)
	return tip, commits, err
}

// AddCommits stores commits, oldest first, that lead from those stored to tip; with
// anew they replace those stored. Only the newest most stay. A commit that is
// stored already is not stored twice.
func (x *DB) AddCommits(ctx context.Context, tip string, commits []Commit, anew bool, most int) error {
	return x.db.Write(ctx, "add commits", func(tx *sql.Tx) error {
		if anew {
			if _, err := tx.ExecContext(ctx, `delete from commits`); err != nil {
				return err
			}
		}
		insert, err := tx.PrepareContext(ctx, `insert into commits (oid, message, files) values (?, ?, ?) on conflict do nothing`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, c := range commits {
			files, err := json.Marshal(c.Files)
			if err != nil {
				return err
			}
			if _, err := insert.ExecContext(ctx, c.Oid, c.Message, string(files)); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `delete from commits where n <= (select n from commits order by n desc limit 1 offset ?)`, most)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into meta (key, value) values ('commits', ?) on conflict do update set value = excluded.value`, tip)
		return err
	})
}
