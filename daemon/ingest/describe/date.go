package describe

import (
	"bytes"
	"fmt"
	"strings"
)

// originalDate returns the day on which a file's header says that it was made,
// as YYYY-MM-DD; "" if it says none. A copyright names a year, and often not the
// file's: it is no date.
func originalDate(src []byte) string {
	top := src[:min(len(src), 4<<10)]
	for len(top) > 0 {
		line := top
		if i := bytes.IndexByte(top, '\n'); i >= 0 {
			line, top = top[:i], top[i+1:]
		} else {
			top = nil
		}
		if len(line) > 200 {
			continue
		}
		if rest := dateField(line); rest != nil {
			if d := readDate(string(rest)); d != "" {
				return d
			}
		}
	}
	return ""
}

// dateField returns what a line of a header says behind a word for the day of
// its making, nil if it has none.
func dateField(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t/*#;!<->%\"'@\\$.")
	for _, word := range [...]string{"creation date", "creation_date", "creation-date", "date created", "date_created", "original date", "original_date", "original-date", "created", "date", "written"} {
		if len(line) < len(word) || !equalFold(line[:len(word)], word) {
			continue
		}
		rest := line[len(word):]
		if len(rest) > 0 && isLetter(rest[0]|0x20) {
			continue // "createdAt": another word
		}
		rest = bytes.TrimLeft(rest, "\"' \t_-")
		for _, on := range [...]string{"on ", "at ", "at:", "on:"} {
			if len(rest) > len(on) && equalFold(rest[:len(on)], on) {
				rest = rest[len(on):]
				break
			}
		}
		return bytes.TrimLeft(rest, ":= \t\"'")
	}
	return nil
}

func equalFold(b []byte, s string) bool {
	for i := range len(s) {
		if b[i]|0x20 != s[i]|0x20 {
			return false
		}
	}
	return true
}

// readDate reads 2024-03-15, 2024/3/15, 15 March 2024, March 15, 2024 and Mon
// Mar 15 2024 at the beginning of s. Orders that are read two ways
// (03/04/2024) are no dates.
func readDate(s string) string {
	fields := strings.FieldsFunc(s[:min(len(s), 40)], func(r rune) bool { return strings.ContainsRune(" -/.,:\t\"';", r) })
	var num []int
	month := 0
	for i, f := range fields {
		if n, ok := number(f); ok {
			num = append(num, n)
		} else if m := monthOf(f); m > 0 && month == 0 {
			month = m
		} else if i > 0 || !isDayName(f) {
			break
		}
	}
	y, d := 0, 0
	switch {
	case month > 0:
		for _, n := range num {
			if n >= 1000 && y == 0 {
				y = n
			} else if n <= 31 && d == 0 {
				d = n
			}
		}
	case len(num) >= 3 && num[0] >= 1000:
		y, month, d = num[0], num[1], num[2]
	}
	if y < 1970 || y >= 2100 || month < 1 || month > 12 || d < 1 || d > daysIn(y, month) {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, month, d)
}

// number reads 15, 15th and the day of 15T10.
func number(s string) (int, bool) {
	n, i := 0, 0
	for i < len(s) && i < 4 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i == 0 {
		return 0, false
	}
	switch rest := s[i:]; {
	case rest == "", rest == "th", rest == "st", rest == "nd", rest == "rd", rest[0] == 'T':
		return n, true
	}
	return 0, false
}

func monthOf(s string) int {
	if len(s) < 3 {
		return 0
	}
	i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(s[:3]))
	if i < 0 || i%3 != 0 {
		return 0
	}
	full := [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}[i/3]
	if !strings.HasPrefix(full, strings.ToLower(s)) {
		return 0
	}
	return i/3 + 1
}

func isDayName(s string) bool {
	if len(s) < 3 {
		return false
	}
	i := strings.Index("montuewedthufrisatsun", strings.ToLower(s[:3]))
	return i >= 0 && i%3 == 0
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
