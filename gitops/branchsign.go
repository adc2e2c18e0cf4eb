package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// signLimit ends a program that signs and waits for somebody.
const signLimit = 10 * time.Second

// sign returns the header that signs the commit text, made by the program and the
// key of the user's own configuration: what comes with a repository names neither.
// It fails where somebody would have to be asked for a passphrase.
func (t *branchTarget) sign(ctx context.Context, text string) (header string, err error) {
	ctx, cancel := context.WithTimeout(ctx, signLimit)
	defer cancel()
	key := t.conf.trusted("user.signingkey")
	if t.conf.foreign("user.signingkey") {
		return "", errors.New("the signing key is set by the repository (user.signingKey), not by your own configuration")
	}
	var signature []byte
	switch f := t.conf.trusted("gpg.format"); f {
	case "", "openpgp":
		signature, err = t.signPGP(ctx, key, text)
	case "ssh":
		signature, err = t.signSSH(ctx, key, text)
	default:
		return "", fmt.Errorf("signatures of format %s are not made without you", f)
	}
	if err != nil {
		return "", err
	}
	name := "gpgsig"
	if t.size == 32 {
		name = "gpgsig-sha256"
	}
	return name + " " + strings.ReplaceAll(strings.TrimRight(string(signature), "\n"), "\n", "\n ") + "\n", nil
}

func (t *branchTarget) signPGP(ctx context.Context, key, text string) ([]byte, error) {
	exe := firstNonEmpty(t.conf.trusted("gpg.openpgp.program"), t.conf.trusted("gpg.program"), "gpg")
	if key == "" {
		name, email := t.conf.identity()
		key = name + " <" + email + ">"
	}
	return runSigner(ctx, text, exe, "--batch", "--no-tty", "--pinentry-mode=error", "-bsau", key)
}

// signSSH signs with a key file, or with a public key whose other half an agent
// holds.
func (t *branchTarget) signSSH(ctx context.Context, key, text string) ([]byte, error) {
	if key == "" {
		return nil, errors.New("no signing key is set (user.signingKey)")
	}
	if literal, ok := strings.CutPrefix(key, "key::"); ok || strings.HasPrefix(key, "ssh-") {
		f := filepath.Join(t.l.StateDir(), "branch.key")
		if !ok {
			literal = key
		}
		if err := os.WriteFile(f, []byte(literal+"\n"), 0o600); err != nil {
			return nil, err
		}
		defer os.Remove(f)
		key = f
	} else if rest, ok := strings.CutPrefix(key, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		key = filepath.Join(home, rest)
	}
	exe := firstNonEmpty(t.conf.trusted("gpg.ssh.program"), "ssh-keygen")
	args := []string{"-Y", "sign", "-n", "git", "-f", key}
	if strings.HasSuffix(key, "branch.key") {
		args = append(args, "-U") // the agent has it
	}
	return runSigner(ctx, text, exe, args...)
}

// runSigner gives text to a program that can ask nobody: it has no terminal and no
// display.
func runSigner(ctx context.Context, text, exe string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Stdin = strings.NewReader(text)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	for _, kv := range CleanEnv(os.Environ()) {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "DISPLAY", "WAYLAND_DISPLAY", "GPG_TTY", "SSH_ASKPASS":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "SSH_ASKPASS_REQUIRE=never")
	cmd.WaitDelay = time.Second
	detach(cmd)
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(exe), err, first)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s made no signature", filepath.Base(exe))
	}
	return out, nil
}
