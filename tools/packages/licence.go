package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A module is one that is linked into a program, with the terms it comes under.
type module struct {
	Path, Version string
	licence       string // as SPDX names it
	texts         [][]byte
	in            map[string]bool // the programs it is in
}

// modules returns what the programs are linked from, by path: ours is not among
// them, Go's own library is. A module whose terms are not found, or ask for more
// than to be named, is an error: then it may not be shipped like this.
func (r *release) modules(ctx context.Context, programs []program) ([]module, error) {
	linked := map[string]module{"std": {Path: "std", Version: runtime.Version(), in: map[string]bool{}}}
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p.path)
		if err != nil {
			return nil, err
		}
		std := linked["std"]
		std.Version = info.GoVersion
		linked["std"] = std
		std.in[p.String()] = true
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			if _, ok := linked[d.Path]; !ok {
				linked[d.Path] = module{Path: d.Path, Version: d.Version, in: map[string]bool{}}
			}
			linked[d.Path].in[p.String()] = true
		}
	}
	dirs, err := r.moduleDirs(ctx)
	if err != nil {
		return nil, err
	}
	var faults []error
	mods := make([]module, 0, len(linked))
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		m := linked[path]
		m.texts, err = terms(dirs[path])
		if err == nil {
			m.licence, err = classify(m.texts)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", m.Path, m.Version, err))
		}
		mods = append(mods, m)
	}
	return mods, errors.Join(faults...)
}

// moduleDirs says where modules lie on this machine.
func (r *release) moduleDirs(ctx context.Context) (map[string]string, error) {
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = r.tree
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
		return out, nil
	}
	out, err := run("list", "-m", "-json=Path,Dir", "all")
	if err != nil {
		return nil, err
	}
	root, err := run("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"std": strings.TrimSpace(string(root))}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path] = m.Dir
	}
}

// terms reads the files of a module that say under which terms it comes.
func terms(dir string) ([][]byte, error) {
	if dir == "" {
		return nil, errors.New("it is not in the module cache")
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	named := regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|copyright)([._-].*)?$`)
	var texts [][]byte
	for _, f := range all {
		if f.IsDir() || !named.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, errors.New("no file says under which terms it comes")
	}
	return texts, nil
}

// classify names the terms by sentences that they have, as SPDX does. Terms that
// reach what they are linked into are an error, and so are unknown ones.
func classify(texts [][]byte) (string, error) {
	all := strings.ToLower(strings.Join(strings.Fields(string(bytes.Join(texts, []byte("\n")))), " "))
	// Of the licences of GNU the MPL says, where it defines its words, that they may
	// be chosen as well.
	all = strings.ReplaceAll(all, "means either the gnu general public license, version 2.0, the gnu lesser general public license, version 2.1, "+
		"the gnu affero general public license, version 3.0", "")
	var found []string
	add := func(id string, sentences ...string) {
		for _, s := range sentences {
			if !strings.Contains(all, s) {
				return
			}
		}
		found = append(found, id)
	}
	if strings.Contains(all, "gnu general public license") || strings.Contains(all, "gnu lesser general public") || strings.Contains(all, "gnu affero") {
		return "", errors.New("its terms name the GNU licences: somebody has to read them")
	}
	add("Apache-2.0", "apache license", "version 2.0")
	add("MIT", "permission is hereby granted, free of charge, to any person obtaining a copy")
	if strings.Contains(all, "redistribution and use in source and binary forms") {
		if strings.Contains(all, "neither the name") || strings.Contains(all, "endorse or promote products") {
			found = append(found, "BSD-3-Clause")
		} else {
			found = append(found, "BSD-2-Clause")
		}
	}
	add("MPL-2.0", "mozilla public license", "version 2.0")
	add("CC0-1.0", "cc0 1.0 universal")
	add("ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee")
	add("Unlicense", "this is free and unencumbered software released into the public domain")
	add("Zlib", "this software is provided 'as-is'", "altered source versions must be plainly marked")
	if len(found) == 0 {
		return "", errors.New("its terms are not known: add them to classify")
	}
	return strings.Join(found, " AND "), nil
}

// licences are the texts of all of them, each once, with whose they are.
func licences(mods []module) []byte {
	whose, order := map[string][]string{}, []string{}
	for _, m := range mods {
		for _, text := range m.texts {
			if whose[string(text)] == nil {
				order = append(order, string(text))
			}
			whose[string(text)] = append(whose[string(text)], m.Path+" "+m.Version)
		}
	}
	var b bytes.Buffer
	for _, text := range order {
		fmt.Fprintf(&b, "%s\n%s\n%[1]s\n\n%s\n\n", strings.Repeat("=", 78), strings.Join(whose[text], "\n"), strings.TrimSpace(text))
	}
	return b.Bytes()
}

// copyright is what Debian wants to know, and others may.
func (r *release) copyright(mods []module) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "foldwatch %s\nSource: %s\n\nCopyright: the foldwatch authors\nLicence: Apache-2.0\n\n", r.version, homepage)
	b.WriteString("On Debian systems the text of the Apache License, version 2.0, is in\n/usr/share/common-licenses/Apache-2.0; elsewhere in LICENSE beside this file.\n\n" +
		"The program is linked from the following, whose terms are in LICENSES.gz\nbeside this file. The name of each is that of its Go module: `go mod download` brings\nits source.\n\n")
	for _, m := range mods {
		fmt.Fprintf(&b, "%s %s\n  %s\n", m.Path, m.Version, m.licence)
		for _, line := range holders(m.texts) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.Bytes()
}

// holders are the lines that say whose a module is.
func holders(texts [][]byte) []string {
	says := regexp.MustCompile(`(?im)^[\s*#/]*(copyright\s+(?:\(c\)|©|[0-9]{4}).*)$`)
	var lines []string
	for _, text := range texts {
		for _, m := range says.FindAllSubmatch(text, -1) {
			line := strings.Join(strings.Fields(string(m[1])), " ")
			if !strings.Contains(line, "[yyyy]") && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
