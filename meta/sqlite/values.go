package sqlite

import (
	"encoding/json"
	"time"
)

// List returns xs as a JSON array, for `in (select value from json_each(?))`:
// one statement for any number.
func List[T ~string](xs []T) string {
	if len(xs) == 0 {
		return "[]"
	}
	b, err := json.Marshal(xs)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// Micros returns t as it is stored, in microseconds since 1970; the zero time
// is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time is the inverse of [Micros], in UTC.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
