package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// systemFlag adds --system to a command about one checkout.
func systemFlag(c *cobra.Command, system *bool) {
	c.Flags().BoolVar(system, "system", false, "of the machine's service, as root: also let it into the checkout, or out of it")
}

// atSystem returns the machine's service, if it is installed and ours to change.
func (app *App) atSystem() (unit.Spec, error) {
	s, err := app.unitSpec(unitFlags{system: true})
	if err != nil {
		return s, err
	}
	if runtime.GOOS != "linux" {
		return s, usagef("foldwatch --help", "--system is for systemd; elsewhere run foldwatch as the service's account")
	}
	if now, _ := app.installed(s); !now.Installed && now.Packaged == "" {
		return s, notInstalled(s)
	}
	if os.Geteuid() != 0 {
		return s, fold.WithHint(fmt.Errorf("the service of the machine is root's to change: %w", fold.ErrForbidden), "sudo foldwatch …")
	}
	return s, nil
}

// addToSystem binds the checkout at path, see bound, into the view of the machine's service,
// and has it registered there.
func (app *App) addToSystem(cmd *cobra.Command, path string) error {
	if err := unit.Bindable(path); err != nil {
		return err
	}
	s, err := app.atSystem()
	if err != nil {
		return err
	}
	if path, err = bound(s, path); err != nil {
		return err
	}
	if err := app.machine(s).Apply(cmd.Context(), s.Bind(path, true)); err != nil {
		return err
	}
	if err := app.asAccount(cmd, s, path); err != nil {
		return errors.Join(err, app.unbind(cmd.Context(), s))
	}
	return nil
}

// removeFromSystem unregisters a checkout of the machine's service, and takes
// what is no longer registered out of its view.
func (app *App) removeFromSystem(cmd *cobra.Command) error {
	s, err := app.atSystem()
	if err != nil {
		return err
	}
	return errors.Join(app.asAccount(cmd, s), app.unbind(cmd.Context(), s))
}

// asAccount runs the command that cmd is, with its flags, as the service's
// account.
func (app *App) asAccount(cmd *cobra.Command, s unit.Spec, args ...string) error {
	argv := []string{cmd.Name()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "system" {
			argv = append(argv, "--"+f.Name+"="+f.Value.String())
		}
	})
	c := accountCommand(cmd.Context(), s, append(append(argv, "--"), args...)...)
	c.Stdin, c.Stdout, c.Stderr = app.Stdin, app.Stdout, app.Stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &accountError{exit.ExitCode()}
	}
	return err
}

// An accountError is the end of a program that has said why.
type accountError struct{ code int }

// exitStatus is that of the program.
func (a *accountError) exitStatus() int { return a.code }

func (a *accountError) Error() string { return fmt.Sprintf("exit code %d", a.code) }

// Is makes it one that was shown.
func (a *accountError) Is(target error) bool { return target == errShown }

// accountCommand is foldwatch with args, run as the service's account, on its
// folders.
func accountCommand(ctx context.Context, s unit.Spec, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "runuser", append([]string{
		"-u", s.Account, "--", "env", "HOME=" + s.Home, "FOLDWATCH_HOME=" + s.State, "FOLDWATCH_AUTO_START=false", s.Program,
	}, args...)...)
}

// unbind removes the drop-ins of checkouts that the machine's service does not
// have. Where it does not say which it has, all stay.
func (app *App) unbind(ctx context.Context, s unit.Spec) error {
	c := accountCommand(ctx, s, "projects", "--json")
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return fmt.Errorf("ask the service which checkouts it has: %w", err)
	}
	var list wire.ProjectList
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		return fmt.Errorf("ask the service which checkouts it has: %w", err)
	}
	var keep []string
	for _, pr := range list.Items {
		for _, co := range pr.Checkouts {
			p, _ := unit.DropIn(co.Path)
			keep = append(keep, p)
		}
	}
	var steps []unit.Step
	for _, at := range app.dropIns() {
		if !slices.Contains(keep, at) {
			steps = append(steps, unit.Step{Remove: at})
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return app.machine(s).Apply(ctx, append(steps, s.Reload()...))
}

// dropIns returns the files that let the machine's service into checkouts.
func (app *App) dropIns() []string {
	p, _ := unit.DropIn("/")
	var there []string
	found, _ := filepath.Glob(app.at(filepath.Join(filepath.Dir(p), "checkout-*.conf"))) // the pattern is fine
	for _, f := range found {
		there = append(there, filepath.Join(filepath.Dir(p), filepath.Base(f)))
	}
	return there
}
