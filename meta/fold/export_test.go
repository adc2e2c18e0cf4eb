package fold

// KeyLines returns the bytes that each key of b takes, [start, end) in the file.
func KeyLines(b []byte) (map[string][2]int, error) {
	l, err := split(b)
	if err != nil || !l.has {
		return nil, err
	}
	entries, err := readHead(b[l.head:l.headEnd], l.headLine)
	if err != nil {
		return nil, err
	}
	lines := map[string][2]int{}
	for _, e := range entries {
		lines[e.key] = [2]int{l.head + e.start, l.head + e.end}
	}
	return lines, nil
}
