// Package meta keeps everything that is kept in SQLite: state.db (what this
// machine knows and cannot find out again), cache.db (what was costly to
// compute) and one index.db a checkout (what its files say).
//
// state.db is migrated; the other two carry a format number and are begun anew
// when it differs or when they are damaged, since files are the only truth.
package meta
