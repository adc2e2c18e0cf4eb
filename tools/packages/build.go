package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A program is one build of foldwatch.
type program struct {
	os, arch string
	static   bool   // needs no library of the system: for musl, and for archives
	cc       string // the C compiler
	path     string
}

func (p program) String() string {
	if p.static {
		return p.os + "/" + p.arch + " static"
	}
	return p.os + "/" + p.arch
}

func hostArch() string { return runtime.GOARCH }

// targets are all builds that one Debian can make. For macOS a C compiler and
// the system's headers are needed that it has not: there the formula builds.
func targets() []program {
	cross := map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}
	cross[hostArch()] = "gcc"
	var all []program
	for _, arch := range []string{"amd64", "arm64"} {
		all = append(all, program{os: "linux", arch: arch, cc: cross[arch]}, program{os: "linux", arch: arch, cc: cross[arch], static: true})
	}
	return append(all, program{os: "windows", arch: "amd64", cc: "x86_64-w64-mingw32-gcc"})
}

// debian names the packages of Debian that have compilers.
func debian(cc string) string {
	switch cc {
	case "x86_64-w64-mingw32-gcc":
		return "gcc-mingw-w64-x86-64"
	case "gcc":
		return "gcc"
	}
	return "gcc-" + strings.TrimSuffix(cc, "-gcc")
}

// programs builds what compilers are here for, and says what is left out.
func (r *release) programs(ctx context.Context) ([]program, error) {
	var built []program
	for _, p := range targets() {
		if len(r.only) > 0 && !slices.Contains(r.only, p.os+"/"+p.arch) {
			continue
		}
		if _, err := exec.LookPath(p.cc); err != nil {
			if os.Getenv("CI") != "" {
				return nil, fmt.Errorf("%s: %s is missing (Debian: apt-get install %s)", p, p.cc, debian(p.cc))
			}
			fmt.Fprintf(os.Stderr, "SKIP: %s: %s is missing (Debian: apt-get install %s)\n", p, p.cc, debian(p.cc))
			continue
		}
		if err := r.build(ctx, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		built = append(built, p)
	}
	return built, nil
}

// build compiles p. Nothing of this machine goes into it: no path, no state of
// the checkout, no id of the build.
func (r *release) build(ctx context.Context, p *program) error {
	p.path = filepath.Join(r.work, strings.NewReplacer("/", "-", " ", "-").Replace(p.String()), "foldwatch")
	ldflags := "-s -w -buildid= -X main.setVersion=" + r.version + " -X main.setCommit=" + r.commit + " -X main.setDate=" + r.date.Format("2006-01-02")
	args := []string{"build", "-mod=readonly", "-trimpath", "-buildvcs=false"}
	if p.static {
		args = append(args, "-tags=netgo,osusergo")
		ldflags += ` -linkmode external -extldflags "-static"`
	}
	if p.os == "windows" {
		p.path += ".exe"
	}
	// As make build has it; what the environment says would be in the bytes.
	cflags := "-O2 -g -fno-semantic-interposition"
	if p.os == "linux" && p.arch == "arm64" {
		// The grammar of YAML keeps -1 in a char, which has no sign there.
		cflags += " -fsigned-char"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-ldflags="+ldflags, "-o", p.path, "./cmd/foldwatch")...)
	cmd.Dir = r.tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS="+p.os, "GOARCH="+p.arch, "CC="+p.cc, "CXX="+strings.TrimSuffix(p.cc, "gcc")+"g++",
		"CGO_CFLAGS="+cflags, "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func find(all []program, system, arch string, static bool) *program {
	for i, p := range all {
		if p.os == system && p.arch == arch && p.static == static {
			return &all[i]
		}
	}
	return nil
}
