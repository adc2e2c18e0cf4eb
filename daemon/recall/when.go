package recall

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const monthNames = `January|February|March|April|May|June|July|August|September|October|November|December`

// lazyRegexp compiles an expression when it is first used. Most commands run this program
// without a search, and should not pay for it.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// timeQuestion matches the beginning of a question whose answer is a time.
var timeQuestion = lazyRegexp(`(?i)^\W*(since when|when|how long ago|how recently|((in|on) )?(what|which) (year|season|month|week|weekday|day|date))\b`)

// asksWhen reports whether a question asks for a time.
func asksWhen(query string) bool { return timeQuestion().MatchString(query) }

// timeWords match words that say when something was or will be. May counts as a month
// with a capital letter only.
var timeWords = lazyRegexp(`(?i:\b(yesterday|today|tonight|tomorrow|ago|last|next|recently|since|` +
	`this (week|weekend|month|year|morning|spring|summer|autumn|fall|winter)|` +
	`monday|tuesday|wednesday|thursday|friday|saturday|sunday|` +
	`january|february|march|april|june|july|august|september|october|november|december|(19|20)\d\d)\b)|\bMay\b`)

// mentionsTime reports whether a text says when something was or will be.
func mentionsTime(text string) bool { return timeWords().MatchString(text) }

var (
	dayISO     = lazyRegexp(`\b(\d{4})-(\d{2})-(\d{2})\b`)
	dayFirst   = lazyRegexp(`\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? (` + monthNames + `),? (\d{4})\b`)
	monthFirst = lazyRegexp(`\b(` + monthNames + `) (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`)
	monthOnly  = lazyRegexp(`\b(` + monthNames + `),? (?:of )?(\d{4})\b`)
	relative   = lazyRegexp(`(?i)\b(today|yesterday|(this|last) (week|month|year)|(\d{1,3}|an?|two|three|four|five|six) (day|week|month|year)s? ago)\b`)
)

// timeSpan returns the time that a question names, [from, to) in UTC: a day, a month, or
// a time relative to now. Both are zero if it names none.
func timeSpan(query string, now time.Time) (from, to time.Time) {
	day := func(year, month, day string) (time.Time, time.Time) {
		at, err := time.Parse("2006 January 2", year+" "+month+" "+day)
		if err != nil {
			return time.Time{}, time.Time{}
		}
		return at, at.AddDate(0, 0, 1)
	}
	if m := dayISO().FindStringSubmatch(query); m != nil {
		if at, err := time.Parse(time.DateOnly, m[0]); err == nil {
			return at, at.AddDate(0, 0, 1)
		}
	}
	if m := dayFirst().FindStringSubmatch(query); m != nil {
		return day(m[3], m[2], m[1])
	}
	if m := monthFirst().FindStringSubmatch(query); m != nil {
		return day(m[3], m[1], m[2])
	}
	if m := monthOnly().FindStringSubmatch(query); m != nil {
		if at, err := time.Parse("January 2006", m[1]+" "+m[2]); err == nil {
			return at, at.AddDate(0, 1, 0)
		}
	}
	if m := relative().FindStringSubmatch(query); m != nil {
		return relativeSpan(m, now.UTC())
	}
	return time.Time{}, time.Time{}
}

// relativeSpan returns the time that a match of relative means: the day, the week from
// Monday, the month or the year that many units before now.
func relativeSpan(m []string, now time.Time) (from, to time.Time) {
	today := now.Truncate(24 * time.Hour)
	n, unit := 1, strings.ToLower(m[5])
	switch strings.ToLower(m[1]) {
	case "today":
		return today, today.AddDate(0, 0, 1)
	case "yesterday":
		return today.AddDate(0, 0, -1), today
	}
	if unit != "" {
		n = count(m[4])
	} else if unit = strings.ToLower(m[3]); strings.EqualFold(m[2], "this") { // this or last
		n = 0
	}
	switch unit {
	case "day":
		return today.AddDate(0, 0, -n), today.AddDate(0, 0, 1-n)
	case "week":
		monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
		return monday.AddDate(0, 0, -7*n), monday.AddDate(0, 0, 7-7*n)
	case "month":
		first := today.AddDate(0, 0, 1-today.Day())
		return first.AddDate(0, -n, 0), first.AddDate(0, 1-n, 0)
	}
	first := time.Date(today.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(-n, 0, 0), first.AddDate(1-n, 0, 0)
}

// count parses a small number in digits or words.
func count(s string) int {
	for i, word := range []string{"two", "three", "four", "five", "six"} {
		if strings.EqualFold(s, word) {
			return i + 2
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1 // a, an
	}
	return n
}
