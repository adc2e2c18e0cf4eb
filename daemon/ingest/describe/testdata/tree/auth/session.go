// Copyright 2024 The Demo Authors.

// Package auth keeps people logged in. A session lives for twelve hours; it is
// renewed at each request.
package auth

import (
	"errors"
	"time"

	"example.com/demo/store"
)

// ErrExpired says that the session is over.
var ErrExpired = errors.New("session expired")

// A Session is one person's login.
type Session struct {
	Token string
	Until time.Time
}

// Renew puts the end of the session off.
func (s *Session) Renew(now time.Time) error {
	if now.After(s.Until) {
		return ErrExpired
	}
	s.Until = now.Add(12 * time.Hour)
	return store.Save(s.Token, s.Until)
}

// Valid reports whether the session is still good.
func (s *Session) Valid(now time.Time) bool {
	return now.Before(s.Until)
}

// Login starts a session for a person who has shown the password.
func Login(name, token string, now time.Time) (*Session, error) {
	if name == "" {
		return nil, errors.New("no name")
	}
	return &Session{Token: token, Until: now.Add(12 * time.Hour)}, nil
}
