package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A check looks at one thing. Its number and name are in scripts and bug reports:
// a new check takes the next number, and that of one that went is never used
// again.
type check struct {
	number int
	name   string
	run    func(ctx context.Context, p *patient) []finding
}

// checks is the table, in the order in which they run: what needs the daemon
// stands below it.
func checks() []check {
	one := func(fn func(context.Context, *patient) finding) func(context.Context, *patient) []finding {
		return func(ctx context.Context, p *patient) []finding { return []finding{fn(ctx, p)} }
	}
	return []check{
		{1, "program", one(checkProgram)},
		{2, "configuration", checkConfiguration},
		{3, "variables", checkVariables},
		{4, "state-folder", one(checkState)},
		{5, "disk-space", one(checkDisk)},
		{6, "clock", checkClock},
		{7, "git", one(checkGit)},
		{8, "lock", checkLock},
		{9, "daemon", one(checkDaemon)},
		{10, "other-daemon", checkOthers},
		{11, "version", one(checkVersion)},
		{12, "socket", one(checkSocket)},
		{13, "listen", one(checkListen)},
		{14, "open-files", one(checkOpenFiles)},
		{15, "watches", checkWatches},
		{16, "service", checkUnit},
		{17, "environment", checkEnvironment},
		{18, "identity", byGit(checkIdentity)},
		{19, "credentials", checkCredentials},
		{20, "folder", one(checkFolder)},
		{21, "projects", checkProjects},
		{22, "git-lock", byGit(checkGitLock)},
		{23, "history", byGit(checkHistory)},
		{24, "sync", checkSync},
		{25, "branch", byGit(checkTracked)},
		{26, "merge-driver", byGit(checkMergeDriver)},
		{27, "packers", checkPackers},
		{28, "obsidian", checkObsidian},
		{29, "embedder", checkEmbedder},
		{30, "index", checkIndex},
		{31, "agents", checkAgents},
	}
}

func doctorCommand(e *environment) *cobra.Command {
	var fix, dryRun bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything, and name the command that mends each problem",
		Long: "Looks at the program, its folders, the daemon, the service and every checkout, one numbered\n" +
			"check after the other. Exit code 7 says that one failed. --fix mends what can be mended\n" +
			"without a decision of yours, and says what it changed.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun && !fix {
				return usagef("foldwatch doctor --fix --dry-run", "--dry-run is for --fix")
			}
			e.noticesTold = true // the checks tell more
			found := examine(cmd.Context(), e, fix && !dryRun)
			n := tally(found)
			if err := e.emit(map[string]any{"checks": found, "counts": n}, func(p printer) { e.printFindings(p, found, dryRun) }); err != nil {
				return err
			}
			if n[isFail] > 0 {
				return fmt.Errorf("%w: %s", errDegraded, plural(n[isFail], "problem"))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without asking")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "with --fix: only say what would be changed")
	return c
}

// doctorPatience bounds the wait for one answer of the daemon: somebody who looks
// what is wrong asks it several things, and it may be what is wrong.
const doctorPatience = 4 * time.Second

// examine runs every check in order. With fix it mends what it safely can, and
// looks again.
func examine(ctx context.Context, e *environment, fix bool) []finding {
	e.patience.daemon = min(e.patience.daemon, doctorPatience)
	p := &patient{e: e}
	var all []finding
	for _, ch := range checks() {
		all = append(all, ch.on(ctx, p, fix)...)
	}
	return all
}

// on runs one check. With fix, what it finds is mended until nothing is left that
// can be: one thing may hide another. What was mended stands before what was found
// last.
func (ch check) on(ctx context.Context, p *patient, fix bool) []finding {
	const rounds = 3
	var fixed []finding
	for round := 0; ; round++ {
		found := ch.run(ctx, p)
		for i := range found {
			found[i].Number, found[i].Name = ch.number, ch.name
		}
		did := false
		for i := range found {
			f := &found[i]
			if !fix || round == rounds || !f.needsAction() || f.fix == nil {
				continue
			}
			if err := f.fix(ctx); err != nil {
				f.Text, f.fix = fmt.Sprintf("%s; to mend it failed: %v", f.Text, err), nil
				left := slices.DeleteFunc(found, func(f finding) bool { return f.Status == isFixed })
				return append(fixed, left...)
			}
			f.Status, f.Mend, did = isFixed, "", true
			fixed = append(fixed, *f)
		}
		if !did {
			return append(fixed, found...)
		}
		p.again(ctx)
	}
}

// tally counts findings by status.
func tally(found []finding) map[string]int {
	n := map[string]int{isOK: 0, isWarn: 0, isFail: 0, isSkipped: 0, isFixed: 0}
	for _, f := range found {
		n[f.Status]++
	}
	return n
}

// Widths of the columns before the text; where they end, further lines begin.
const (
	statusWidth = len(isSkipped)
	nameWidth   = len("configuration")
	textColumn  = 2 + 2 + statusWidth + 2 + nameWidth + 2
)

// printFindings prints a line for each finding, and below it what to do. On a
// terminal long ones go on below themselves; elsewhere a line is a line.
func (e *environment) printFindings(p printer, found []finding, dryRun bool) {
	width := e.terminalWidth()
	last := 0
	for _, f := range found {
		number := fmt.Sprintf("%2d", f.Number)
		if f.Number == last {
			number = "  "
		}
		last = f.Number
		p.printf("%s  %s  %s  %s\n", number, mark(f.Status), fmt.Sprintf("%-*s", nameWidth, f.Name), folded(f.Text, width))
		below := func(word, text string) {
			if text != "" {
				p.printf("%*s%s\n", textColumn, "", folded(word+" "+text, width))
			}
		}
		switch {
		case f.Status == isFixed:
			below("did:", f.Fix)
		case f.Fix != "" && dryRun:
			below("--fix would:", f.Fix)
		default:
			below("do:", f.Mend)
		}
	}
	n := tally(found)
	var parts []string
	for _, s := range []string{isOK, isWarn, isFail, isFixed, isSkipped} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	mends := 0
	for _, f := range found {
		if f.needsAction() && f.fix != nil {
			mends++
		}
	}
	line := strings.Join(parts, ", ")
	if mends > 0 && !dryRun {
		line += fmt.Sprintf("; %d of them foldwatch doctor --fix can mend", mends)
	}
	e.messages(false).printf("%s\n", line)
}

// mark is a status in its column, in the colour that people expect.
func mark(status string) styled {
	code := map[string]string{isOK: "32", isWarn: "33", isFail: "1;31", isFixed: "32", isSkipped: "2"}[status]
	return styled{code, fmt.Sprintf("%-*s", statusWidth, status)}
}

// folded breaks a clean text between words into lines that fit behind textColumn;
// 0 is any width. What is longer than a line stays whole, to be copied.
func folded(text string, width int) block {
	text = clean(text)
	room := width - textColumn
	if width == 0 || room < 20 || columns(text) <= room {
		return block(text)
	}
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		n := columns(word)
		switch {
		case at == 0:
		case at+1+n > room:
			b.WriteString("\n" + strings.Repeat(" ", textColumn))
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return block(b.String())
}

// terminalWidth is that of the terminal that stdout is, 0 where it is none.
func (e *environment) terminalWidth() int {
	f, isFile := e.stdout.(*os.File)
	if !isFile || !isTerminal(f) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return w
}
