package chunker_test

import (
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
)

func TestLicenceIsWhatAFileBeginsWith(t *testing.T) {
	const apache = "Copyright 2023 The Authors\n\nLicensed under the Apache License, Version 2.0"
	slashes := "// " + strings.ReplaceAll(apache, "\n", "\n// ") + "\n"
	hashes := "# " + strings.ReplaceAll(apache, "\n", "\n# ") + "\n"
	for _, tc := range []struct {
		name, licence, rest string
	}{
		{"go", slashes, "\n// Package a parses.\npackage a\n"},
		{"go, after a tag", "//go:build linux\n\n" + slashes, "\npackage a\n"},
		{"two of them", "/* " + apache + " */\n\n" + strings.TrimSuffix(slashes, "\n") + "\n", "package a\n"},
		{"c", "/*\n * " + apache + "\n */", "\n#include <stdio.h>\n"},
		{"python", "#!/usr/bin/env python\n" + hashes, "\nimport os\n"},
		{"docstring", `"""` + apache + `"""`, "\nimport os\n"},
		{"php", "<?php\n\n/* " + apache + " */", "\nclass A {}\n"},
		{"html", "<!-- " + apache + " -->", "\n<p>x</p>\n"},
		{"nothing else", slashes, ""},
		{"none", "", "// Package a parses.\npackage a\n"},
		{"a script", "", "#!/bin/sh\n# Starts it.\nrun\n"},
		{"further below", "", "package a\n\n" + slashes},
		{"an attribute", "", "#[license]\nfn a() {}\n"},
		{"empty", "", ""},
	} {
		if n := chunker.Licence([]byte(tc.licence + tc.rest)); n != len(tc.licence) {
			t.Errorf("%s: Licence = %d bytes, want %d", tc.name, n, len(tc.licence))
		}
	}
	if n := chunker.Licence([]byte("/* " + strings.Repeat("Copyright ", 1<<14))); n == 0 || n > 1<<14 {
		t.Errorf("a comment without an end: %d bytes", n)
	}
}
