// Copyright 2026 The Sample Authors. All rights reserved.

// Package sample shows what Go files are made of. It does nothing.
package sample

import (
	"errors"
	"fmt"

	ext "example.com/ext/v2"
)

// ErrEmpty is returned by an empty stack.
var ErrEmpty = errors.New("empty")

const limit = 10

type (
	// ID names a thing.
	ID string

	// A Pair is two values.
	Pair[K comparable, V any] struct {
		Key K
		Val V
	}
)

// Shape has an area.
type Shape interface {
	Area() float64
}

// A Stack holds values, the last one on top. It is not safe for concurrent use.
type Stack[T any] struct {
	items []T
}

// Push puts v on top.
//
//go:noinline
func (s *Stack[T]) Push(v T) {
	s.items = append(s.items, v)
}

func (s *Stack[T]) Len() int { return len(s.items) }

func (Pair[K, V]) String() string { return "pair" }

// Map applies f to each value.
func Map[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

type alias = ext.Thing

var table = map[string]int{
	"one":   1,
	"two":   2,
	"three": 3,
	"four":  4,
}

func main() { fmt.Println(limit) }
