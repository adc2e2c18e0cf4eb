package cut

import (
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// A verdict tells which credentials are in one content. They are looked for when
// they are asked for, at most once. It is for one goroutine.
type verdict struct {
	src   []byte
	known bool
	found []secret.Finding
}

func (v *verdict) findings() []secret.Finding {
	if !v.known {
		v.known, v.found = true, secret.Scan(v.src)
	}
	return v.found
}

// What stands before a cached result: whether the content, cut by these rules, is
// known to hold no credential. That of another is looked through again.
const (
	cutClean  = 'c'
	cutScanIt = 's'
)

// encodeCut returns what is cached of a cut file.
func encodeCut(res *chunker.Result, v *verdict) []byte {
	mark := byte(cutClean)
	if len(v.findings()) > 0 {
		mark = cutScanIt
	}
	return append([]byte{mark}, res.Encode()...)
}

// decodeCut reads what encodeCut wrote, and tells v what it says.
func decodeCut(b []byte, v *verdict) (chunker.Result, error) {
	if len(b) == 0 || b[0] != cutClean && b[0] != cutScanIt {
		return chunker.Result{}, fold.ErrInvalid
	}
	res, err := chunker.DecodeResult(b[1:])
	if err == nil && b[0] == cutClean {
		v.known, v.found = true, nil
	}
	return res, err
}
