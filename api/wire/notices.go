package wire

import (
	"net/url"
	"strings"
)

// NoticesHeader is the header by which the owner of the daemon, at its socket, asks with
// any request what a person should know, and by which the answer tells: a status says
// it too, and costs more than most of what is asked.
const NoticesHeader = "X-Foldwatch-Notices"

// EncodeNotices returns notices as the value of the header, "" for none. Any text fits.
func EncodeNotices(notices []string) string { return url.QueryEscape(strings.Join(notices, "\n")) }

// DecodeNotices is what EncodeNotices was given, where no notice has a line end; nil of
// what it would not write.
func DecodeNotices(value string) []string {
	text, err := url.QueryUnescape(value)
	if err != nil || text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
