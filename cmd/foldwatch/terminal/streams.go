package terminal

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Streams are where a command reads and writes, and how its user wants to be told.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	TTY            func(stream any) bool // a person sits at the stream

	JSON, Quiet, NoInput bool // the flags of that name
}

// NewStreams returns the streams of a program with these variables.
func NewStreams(stdin io.Reader, stdout, stderr io.Writer) *Streams {
	return &Streams{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv, TTY: IsTerminal}
}

// Emit prints the data of a command: v as JSON, or what text prints.
func (s *Streams) Emit(v any, text func(p Printer)) error {
	if s.JSON {
		return WriteJSON(s.Stdout, v)
	}
	text(s.Data())
	return nil
}

// Data is the printer of what was asked for.
func (s *Streams) Data() Printer {
	return Printer{W: s.Stdout, Color: s.colors(s.Stdout)}
}

// Messages is the printer of what is said about it: --quiet silences it unless
// it must be heard.
func (s *Streams) Messages(must bool) Printer {
	return Printer{W: s.Stderr, Color: s.colors(s.Stderr), quiet: s.Quiet && !must}
}

// colors reports whether w is a terminal whose user has not asked for none
// (no-color.org).
func (s *Streams) colors(w any) bool {
	return IsTerminal(w) && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// Interactive reports whether a person can be asked.
func (s *Streams) Interactive() bool {
	return !s.NoInput && s.TTY(s.Stdin) && s.TTY(s.Stderr)
}

// Ask puts a yes-or-no question on stderr and reads the answer from stdin. No
// answer is no.
func (s *Streams) Ask(question string) bool {
	return s.AskWithin(context.Background(), 0, question)
}

// AskWithin is [streams.ask], but takes no answer within d for a no; 0 waits for one.
func (s *Streams) AskWithin(ctx context.Context, d time.Duration, question string) bool {
	if s.NoInput {
		return false
	}
	s.Messages(true).Printf("%s [y/N] ", question)
	if d > 0 && !readable(ctx, s.Stdin, d) {
		s.Messages(true).Printf("\n")
		return false
	}
	line, _ := bufio.NewReader(s.Stdin).ReadString('\n') // the end of input is an answer too: no
	if line == "" {
		s.Messages(true).Printf("\n")
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// TerminalWidth is that of the terminal that stdout is, 0 where it is none.
func (s *Streams) TerminalWidth() int {
	f, isFile := s.Stdout.(*os.File)
	if !isFile || !IsTerminal(f) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return w
}

func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width is how many columns a line on stdout may have.
func (s *Streams) Width() int {
	if f, ok := s.Stdout.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n >= 40 {
			return min(n, 160)
		}
	}
	return plainWidth
}

// plainWidth is how wide results are where nothing says how wide the reader's
// window is.
const plainWidth = 100

func (s *Streams) NewBar(now func() time.Time) *Bar {
	b := &Bar{p: s.Messages(false), now: now, began: now(), width: func() int { return 0 }}
	if f, ok := s.Stderr.(*os.File); ok && IsTerminal(s.Stderr) && s.Getenv("TERM") != "dumb" {
		b.width = func() int {
			w, _, err := term.GetSize(int(f.Fd()))
			if err != nil || w <= 0 {
				return 80
			}
			return w
		}
	}
	return b
}
