package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestCredentialsAsSSHHasThem: an alias, a key or an agent of ~/.ssh/config are what ssh
// says they are, and it is asked without a connection.
func TestCredentialsAsSSHHasThem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: a script stands for ssh here")
	}
	for name, tc := range map[string]struct {
		said, agent string
		lacks       bool
	}{
		"a key of its own":         {said: "identityfile ~/.ssh/work", lacks: false},
		"a key that is not there":  {said: "identityfile ~/.ssh/gone", lacks: true},
		"only keys that are not":   {said: "identityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519", lacks: true},
		"an agent of its own":      {said: "identityagent ~/.ssh/work\nidentityfile ~/.ssh/gone", lacks: false},
		"an agent by its variable": {said: "identityagent $OTHER_AGENT", lacks: false},
		"the agent":                {said: "identityagent SSH_AUTH_SOCK", agent: "work", lacks: false},
		"no agent, though one is":  {said: "identityagent none\nidentityfile ~/.ssh/gone", agent: "work", lacks: true},
		"a key on a card":          {said: "pkcs11provider /usr/lib/opensc-pkcs11.so", lacks: false},
		"what only ssh can expand": {said: "identityfile ~/.ssh/%C", lacks: false},
		"an ssh that has no -G":    {said: "exit", lacks: true},
	} {
		w := newWard(t)
		asked := filepath.Join(w.home, "asked")
		script := "echo \"$@\" >> " + asked + "\ncat <<'.'\nuser git\nhostname git.example.invalid\n" + tc.said + "\n."
		if tc.said == "exit" {
			script = "exit 255"
		}
		w.onPath("ssh", script)
		w.vars["PATH"] = os.Getenv("PATH")
		w.write(filepath.Join(w.home, ".ssh", "work"), "")
		w.vars["OTHER_AGENT"] = filepath.Join(w.home, ".ssh", "work")
		if tc.agent != "" {
			w.vars["SSH_AUTH_SOCK"] = filepath.Join(w.home, ".ssh", tc.agent)
		}
		w.sync(wire.Repository{Sync: "on", Remote: "git@work:zoo.git"})
		found := w.look("credentials", false)
		if has(found, isWarn, "neither an ssh agent nor a key") != tc.lacks {
			t.Errorf("%s: %+v", name, found)
		}
		if b, err := os.ReadFile(asked); tc.said != "exit" && string(b) != "-G git@work\n" {
			t.Errorf("%s: ssh was called with %q, %v", name, b, err)
		}
	}
}

func TestSSHAddress(t *testing.T) {
	for remote, want := range map[string][2]string{
		"git@work:zoo.git": {"git@work", ""}, "work:zoo.git": {"work", ""},
		"ssh://git@work:2222/zoo.git": {"git@work", "2222"}, "ssh://forge/zoo.git": {"forge", ""},
	} {
		if to, port := sshAddress(remote); to != want[0] || port != want[1] {
			t.Errorf("sshAddress(%s) = %q, %q", remote, to, port)
		}
	}
	w := newWard(t)
	w.onPath("ssh", "echo hostname x")
	for remote, want := range map[string]bool{
		"git@work:zoo.git": true, "ssh://git@work:2222/zoo.git": true, "ssh://git@[fe80::1%25eth0]/zoo.git": true,
		"ssh://-oProxyCommand=x/zoo.git": false, "-oProxyCommand=x:zoo.git": false, "ssh://%2DoProxyCommand=x@work/zoo.git": false,
		"git@$(touch x):zoo.git": false, "`x`@work:zoo.git": false, "ssh://a%3Bb@work/zoo.git": false,
	} {
		if _, asked := (&patient{e: w.env}).askSSH(t.Context(), remote, os.Getenv); asked != want {
			t.Errorf("%s is handed to ssh: %v, want %v", remote, asked, want)
		}
	}
}

// TestSSHOfTheWorkingDirectory: a folder of PATH that is none without the working
// directory, which may be a checkout, gives no program to run.
func TestSSHOfTheWorkingDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: a script stands for ssh here")
	}
	w := newWard(t)
	w.onPath("ssh", "echo hostname x\necho identityagent none")
	ran := filepath.Join(w.home, "ran")
	w.write(filepath.Join(w.co, "bin", "ssh"), "#!/bin/sh\ntouch "+ran+"\n")
	w.must(os.Chmod(filepath.Join(w.co, "bin", "ssh"), 0o700))
	t.Chdir(w.co)
	getenv := func(name string) string {
		if name == "PATH" {
			return "bin:" + os.Getenv("PATH")
		}
		return ""
	}
	if _, asked := (&patient{e: w.env}).askSSH(t.Context(), "git@work:zoo.git", getenv); !asked || exists(ran) {
		t.Errorf("asked: %v; the checkout's ssh ran: %v", asked, exists(ran))
	}
}
