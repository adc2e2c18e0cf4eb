package words

import "slices"

// isStop reports whether w carries no meaning on its own. The list is short on
// purpose: words like "open", "all" or "new" mean something in code.
func isStop(w []byte) bool {
	switch len(w) {
	case 1:
		return w[0] == 'a' || w[0] == 'i' || w[0] == 's' || w[0] == 't'
	case 2:
		switch string(w) {
		case "an", "as", "at", "be", "by", "do", "he", "if", "in", "is", "it", "me", "my", "of", "on", "or", "so", "to", "us", "we":
			return true
		}
	case 3:
		switch string(w) {
		case "and", "are", "but", "can", "did", "for", "had", "has", "her", "him", "his", "how", "its", "not", "our", "she", "the", "was", "who", "why", "you":
			return true
		}
	case 4:
		switch string(w) {
		case "been", "does", "from", "have", "into", "such", "than", "that", "them", "then", "they", "this", "were", "what", "when", "will", "with", "your":
			return true
		}
	case 5:
		switch string(w) {
		case "being", "could", "doing", "their", "there", "these", "those", "where", "which", "while", "would":
			return true
		}
	case 6:
		return string(w) == "should"
	}
	return false
}

// stem returns how many bytes of w its stem keeps and a byte to add to them, 0
// for none. It is lighter than Porter's (1980): plural, -ed, -ing and the
// final e that they hide, so that cache, caches, cached and caching are one
// term and story and store stay two. Words that are not ASCII letters, or of
// three letters, are left alone.
func stem(w []byte) (n int, add byte) {
	n = len(w)
	if n < 4 {
		if string(w) == "ids" {
			return 2, 0
		}
		return n, 0
	}
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return n, 0
		}
	}
	if w[n-1] == 's' {
		switch {
		case w[n-2] == 's', w[n-2] == 'u', w[n-2] == 'i': // class, status, basis
			return n, 0
		case n > 4 && w[n-2] == 'e' && w[n-3] == 'i': // queries
			return n - 3, 'y'
		case n > 4 && w[n-2] == 'e' && sibilant(w[:n-2]): // matches, boxes, classes
			n -= 2
		default:
			n--
		}
	}
	switch {
	case n > 4 && w[n-1] == 'g' && w[n-2] == 'n' && w[n-3] == 'i':
		return ending(w, n, 3)
	case n > 3 && w[n-1] == 'd' && w[n-2] == 'e':
		if n > 4 && w[n-3] == 'i' { // copied
			return n - 3, 'y'
		}
		return ending(w, n, 2)
	}
	return finalE(w, n), 0
}

// ending drops an -ed or -ing of k bytes from w[:n] if what is left is a word.
func ending(w []byte, n, k int) (int, byte) {
	m := n - k
	if !hasVowel(w[:m]) || w[m-1] == 'e' && k == 2 { // string, red, need
		return finalE(w, n), 0
	}
	if m == 2 { // used, using
		return m, 'e'
	}
	if c := w[m-1]; m > 3 && c == w[m-2] && c != 'l' && c != 's' && c != 'z' && !isVowel(c) {
		return m - 1, 0 // logged, embedding
	}
	return finalE(w, m), 0
}

// finalE drops the e at the end of w[:n], since -ed and -ing hide it.
func finalE(w []byte, n int) int {
	if n > 3 && w[n-1] == 'e' && w[n-2] != 'e' {
		return n - 1
	}
	return n
}

// sibilant reports whether w makes its plural with -es.
func sibilant(w []byte) bool {
	n := len(w)
	switch w[n-1] {
	case 'x', 'z':
		return true
	case 's':
		return w[n-2] == 's'
	case 'h':
		return w[n-2] == 'c' || w[n-2] == 's'
	}
	return false
}

func isVowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

func hasVowel(w []byte) bool {
	return slices.ContainsFunc(w, isVowel)
}
