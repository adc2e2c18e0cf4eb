package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

func (e *environment) unitLogs(ctx context.Context, fl unitFlags) error {
	s, err := e.unitSpec(fl)
	if err != nil {
		return err
	}
	if now, _ := e.installed(s); !now.Installed && now.Packaged == "" {
		return notInstalled(s)
	}
	command, file := s.Logs(fl.lines, fl.follow)
	if file != "" {
		return e.tail(ctx, file, fl.lines, fl.follow)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = e.stdout, e.stderr
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return nil
}
