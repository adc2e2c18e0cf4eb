package fold

import "errors"

// The kinds of error. Packages wrap one of them with the operation and its
// object; callers test with errors.Is. One table in package api maps them to
// HTTP, MCP and exit codes.
var (
	// ErrNotFound says that what was named does not exist, or is not in the
	// caller's scope.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the memory changed since the caller read it.
	ErrConflict = errors.New("conflict")
	// ErrInvalid says that the input breaks a rule; the text says which.
	ErrInvalid = errors.New("invalid")
	// ErrForbidden says that the caller may not do this.
	ErrForbidden = errors.New("forbidden")
	// ErrUnauthenticated says that it is not known who is calling.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrUnavailable says that it may work later: read-only disk, no space,
	// paused, shutting down.
	ErrUnavailable = errors.New("unavailable")
	// ErrQuarantined says that a file is set aside because it cannot be read
	// as a memory.
	ErrQuarantined = errors.New("quarantined")
	// ErrSecret says that a text holds a credential and was not stored.
	ErrSecret = errors.New("secret")
)

// A HintError carries, beside what went wrong, the command or act that mends it.
type HintError struct {
	Err  error
	Hint string
}

func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap returns the error the hint belongs to.
func (e *HintError) Unwrap() error { return e.Err }

// WithHint adds to err what a person can do about it. A nil err stays nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &HintError{Err: err, Hint: hint}
}

// Hint returns the innermost advice in err's chain, or "".
func Hint(err error) string {
	hint := ""
	for err != nil {
		var h *HintError
		if !errors.As(err, &h) {
			break
		}
		hint, err = h.Hint, h.Err
	}
	return hint
}

// A ConflictError is an ErrConflict that carries what is stored now, so that
// the caller can merge and try again.
type ConflictError struct {
	ID      ID
	Want    string // content hash the caller saw
	Have    string // content hash that is stored
	Current []byte // bytes that are stored
	Yours   []byte // bytes the caller would have stored; nil if not made
}

func (e *ConflictError) Error() string {
	return "memory " + string(e.ID) + " changed since it was read: " + ErrConflict.Error()
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
