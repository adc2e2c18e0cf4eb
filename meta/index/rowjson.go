package index

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// marshal returns m as json.Marshal does. A branch switch writes thousands that
// are lists of plain words and links and nothing else: those are written here, in
// a fraction of the time.
func (m *more) marshal() ([]byte, error) {
	rest := *m
	rest.Aliases, rest.Tags, rest.Keywords, rest.Links, rest.OriginalDate = nil, nil, nil, nil, ""
	if !reflect.ValueOf(&rest).Elem().IsZero() {
		return json.Marshal(m)
	}
	w := plainJSON{b: make([]byte, 0, 128+24*(len(m.Aliases)+len(m.Tags)+len(m.Keywords))+128*len(m.Links))}
	w.text(`{"aliases":`)
	w.list(m.Aliases)
	w.text(`,"tags":`)
	w.list(m.Tags)
	w.text(`,"keywords":`)
	w.list(m.Keywords)
	w.text(`,"links":`)
	w.links(m.Links)
	if m.OriginalDate != "" {
		w.text(`,"original_date":`)
		w.str(m.OriginalDate)
	}
	w.text(`}`)
	if w.other {
		return json.Marshal(m)
	}
	return w.b, nil
}

// A plainJSON writes JSON of strings that need no escape. Of others it says that
// there are some.
type plainJSON struct {
	b     []byte
	other bool
}

func (w *plainJSON) text(s string) { w.b = append(w.b, s...) }

func (w *plainJSON) str(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.other = true
			return
		}
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

// separate writes what stands before item i of a list.
func (w *plainJSON) separate(i int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
}

func (w *plainJSON) list(list []string) {
	if list == nil {
		w.text("null")
		return
	}
	w.text("[")
	for i, s := range list {
		w.separate(i)
		w.str(s)
	}
	w.text("]")
}

func (w *plainJSON) links(list []fold.Link) {
	if list == nil {
		w.text("null")
		return
	}
	w.text("[")
	for i := range list {
		l := &list[i]
		w.separate(i)
		w.text(`{"From":`)
		w.str(string(l.From))
		w.text(`,"To":`)
		w.str(string(l.To))
		w.text(`,"Type":`)
		w.str(string(l.Type))
		w.text(`,"Context":`)
		w.str(l.Context)
		w.text(`,"Derived":`)
		w.b = strconv.AppendBool(w.b, l.Derived)
		w.text(`,"Evidence":`)
		w.str(l.Evidence)
		w.text(`,"Weight":`)
		w.text(`1}`)
		w.other = w.other || l.Weight != 1 // that of all written ones
	}
	w.text("]")
}
