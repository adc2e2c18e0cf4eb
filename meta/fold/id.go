package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An ID names a memory: 16 lower-case hex digits, the same on every machine.
type ID string

// ParseID returns s as an ID. It accepts upper case, returns lower case, and
// returns ErrInvalid for anything but 16 hex digits.
func ParseID(s string) (ID, error) {
	if len(s) != 16 {
		return "", fmt.Errorf("id %.40q is not 16 hex digits: %w", s, ErrInvalid)
	}
	for i := range len(s) {
		c := s[i] | 0x20
		if (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("id %q is not 16 hex digits: %w", s, ErrInvalid)
		}
	}
	return ID(strings.ToLower(s)), nil
}

// Path returns where the memory's file lies below fold/: a/b/<id>.md.
func (id ID) Path() string {
	return string(id[0]) + "/" + string(id[1]) + "/" + string(id) + ".md"
}

func hash16(s string) ID {
	sum := sha256.Sum256([]byte(s))
	return ID(hex.EncodeToString(sum[:8]))
}

// FileID returns the id of the memory that describes the source file at path
// (forward slashes, relative to the checkout) of the project called slug.
func FileID(slug, path string) ID { return hash16(slug + "/" + path) }

// CommitID returns the id of the memory of a commit; oid is its full hex name.
func CommitID(slug, oid string) ID { return hash16(slug + "@commit:" + oid) }

// PullID returns the id of the memory of pull request n of host/repo.
func PullID(slug, hostRepo string, n int) ID {
	return hash16(slug + "@pr:" + hostRepo + "#" + strconv.Itoa(n))
}

// SlugID returns the id of a memory that was given a slug of its own: adding
// under the same slug again is an update.
func SlugID(project, slug string) ID { return hash16(project + "/slug:" + slug) }

// NoteID returns the id of a note made by a person, keyed by its path below
// fold/ until it is adopted. The path counts in its composed form (NFC), so
// that the note has one id on every system.
func NoteID(project, path string) ID { return hash16(project + "/fold:" + normalPath(path)) }

// ContentID returns the id of a memory added without a slug: the hash of its
// normalised content, so that adding a text twice makes one memory. Salt is 0,
// and counts up where that id is taken by a text that has since been edited.
func ContentID(content string, salt int) ID {
	s := NormalContent(content)
	if salt > 0 {
		s += "\x00" + strconv.Itoa(salt)
	}
	return hash16(s)
}

// NormalContent returns content as it is hashed for ContentID: LF line ends,
// no trailing white space on lines, none around the whole.
func NormalContent(content string) string {
	lines := strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// ContentHash returns the SHA-256 of b in hex: what ETags, staleness and
// compare-and-swap go by.
func ContentHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Slug returns s as a project slug: lower case, [a-z0-9-], no dash at either
// end, at most 64 bytes. It returns "" if nothing of s can be kept.
func Slug(s string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		default:
			dash = true
		}
		if b.Len() >= 64 {
			break
		}
	}
	return b.String()
}

// ProposalID returns the id of a proposal to do kind with memories: whichever is
// named first, and whoever made it, the same one has the same id, so that a decision
// is remembered. word tells proposals of one kind apart, as the type of a link does.
func ProposalID(kind, word string, memories ...ID) string {
	parts := []string{"proposal", kind, word}
	for _, id := range slices.Sorted(slices.Values(memories)) {
		parts = append(parts, string(id))
	}
	return string(hash16(strings.Join(parts, ":")))
}
