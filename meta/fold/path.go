package fold

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a path below fold/.
const (
	maxDepth = 8    // path components, the file among them (git.md G6)
	maxName  = 255  // bytes of one component: what every file system can hold
	maxPath  = 1024 // bytes of the whole
)

// ProjectFile is the one file below fold/ that is not markdown and may enter a
// tree.
const ProjectFile = "project.toml"

// OwnPath returns the id of the memory whose file lies at path, and whether
// path has the form we write: a/b/<id>.md, where a and b are the first two
// digits of id.
func OwnPath(path string) (ID, bool) {
	if !ownForm(path) {
		return "", false
	}
	id := path[4:20]
	if path[0] != id[0] || path[2] != id[1] || !lowerHex(id) {
		return "", false
	}
	return ID(id), true
}

// ownForm reports whether path is laid out as our own files are, whatever the
// digits say: x/y/<16 hex digits>.md.
func ownForm(path string) bool {
	if len(path) != 23 || path[1] != '/' || path[3] != '/' || path[20:] != ".md" {
		return false
	}
	return isHex(path[0]) && isHex(path[2]) && allHex(path[4:20])
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func allHex(s string) bool {
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return true
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'F' {
			return false
		}
	}
	return allHex(s)
}

// ValidPath returns ErrInvalid unless path (below fold/, forward slashes) may
// enter a tree: project.toml, or a markdown file at most 8 levels deep, no part
// of whose name is hidden, means something to git, or cannot exist on one of
// the systems we run on. The same paths are refused in both directions.
func ValidPath(path string) error {
	if path == ProjectFile {
		return nil
	}
	reason := ""
	switch {
	case !utf8.ValidString(path):
		reason = "is not UTF-8"
	case len(path) > maxPath:
		reason = "is too long"
	case !strings.HasSuffix(path, ".md"):
		reason = "is not markdown"
	case strings.Count(path, "/") >= maxDepth:
		reason = fmt.Sprintf("lies more than %d levels deep", maxDepth)
	}
	if reason == "" {
		for part := range strings.SplitSeq(path, "/") {
			if reason = badName(part); reason != "" {
				break
			}
		}
	}
	if reason != "" {
		return fmt.Errorf("path %.80q %s: %w", path, reason, ErrInvalid)
	}
	return nil
}

// badName returns what is wrong with one component of a path, or "".
func badName(name string) string {
	switch {
	case name == "":
		return "has an empty part"
	case len(name) > maxName:
		return "has a part of more than 255 bytes"
	case name == ".md":
		return "has no name"
	}
	visible := strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		return r
	}, name)
	// HFS+ compares names without ignorable code points, so that one of them
	// before a dot would still be a dot name there.
	if strings.HasPrefix(visible, ".") {
		return "has a hidden part"
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return "has a control character"
		}
		if r == '\\' || r == ':' {
			return "has a \\ or : in it"
		}
	}
	if c := name[len(name)-1]; c == '.' || c == ' ' {
		return "has a part that ends with a dot or a space"
	}
	stem, _, _ := strings.Cut(strings.ToUpper(visible), ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "GIT~1":
		return "has a part that is a device or short name on Windows"
	}
	if dev, ok := strings.CutPrefix(stem, "COM"); ok && portDigit(dev) {
		return "has a part that is a device name on Windows"
	}
	if dev, ok := strings.CutPrefix(stem, "LPT"); ok && portDigit(dev) {
		return "has a part that is a device name on Windows"
	}
	return ""
}

func portDigit(s string) bool {
	return len(s) == 1 && s[0] >= '0' && s[0] <= '9' || s == "¹" || s == "²" || s == "³"
}

// ignorable reports whether HFS+ leaves r out when it compares names.
func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// normalPath returns path as it is hashed and compared: NFC, since macOS hands
// out decomposed names and others composed ones.
func normalPath(path string) string { return norm.NFC.String(path) }

// Spellings returns path with its accents composed (NFC), and decomposed (NFD).
// Files of both names have one id; most systems keep them as two.
func Spellings(path string) (composed, decomposed string) {
	return norm.NFC.String(path), norm.NFD.String(path)
}
