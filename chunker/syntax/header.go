package syntax

import (
	"bytes"
	"strings"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// headerDoc returns the first sentence of the first comment of a file that is no
// licence, stands before anything else, and belongs to no definition unless it
// says that it describes the file.
func (o *Outline) headerDoc() string {
	at := 0
	for i := 0; i < len(o.leads); {
		from := o.leads[i]
		if !source.IsOpening(o.src[at:from.start], at) {
			return ""
		}
		to := from.end
		if from.start == 0 && bytes.HasPrefix(o.src, []byte("#!")) {
			at = to
			i++
			continue // what stands on the next line is no part of it
		}
		block := bytes.HasPrefix(o.src[from.start:], []byte("/*"))
		for i++; !block && i < len(o.leads) && o.Lines.At(o.leads[i].start) <= o.Lines.At(max(0, to-1))+1 &&
			len(bytes.TrimSpace(o.src[to:o.leads[i].start])) == 0; i++ {
			to = o.leads[i].end
		}
		comment := string(o.src[from.start:to])
		at = to
		if source.IsLicence(comment) {
			continue
		}
		attached := false
		for _, it := range o.items {
			if it.start >= to {
				attached = bytes.Count(o.src[to:it.start], []byte{'\n'}) <= 1 && len(bytes.TrimSpace(o.src[to:it.start])) == 0
				break
			}
		}
		if attached && !strings.Contains(comment, "@file") && !strings.Contains(comment, "\\file") && !strings.Contains(comment, "@module") {
			return ""
		}
		if doc := source.CommentDoc(comment); doc != "" {
			return doc
		}
	}
	return ""
}
