package main

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// made returns the files of the release that match a pattern; there must be some.
func made(t *testing.T, pattern string) []string {
	t.Helper()
	dist := os.Getenv("FOLDWATCH_DIST")
	if dist == "" {
		t.Skip("SKIP: no packages were made; run it by make packages")
	}
	all, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		if os.Getenv("CI") == "" && (strings.Contains(pattern, "windows") || strings.Contains(pattern, "winget") || strings.Contains(pattern, "scoop")) {
			t.Skipf("SKIP: no %s was made; see what make packages says", pattern)
		}
		t.Fatalf("no %s was made", pattern)
	}
	return all
}

// tool runs a program of the system; where it is missing the test is skipped,
// but not where all must be there.
func tool(t *testing.T, pkg string, argv ...string) string {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing (Debian: apt-get install %s)", argv[0], pkg)
		}
		t.Skipf("SKIP: %s is missing (Debian: apt-get install %s)", argv[0], pkg)
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || argv[0] != "lintian") {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// everywhere is what each package for Linux has, whatever its kind.
func everywhere() []string {
	return []string{
		"/usr/bin/foldwatch", "/usr/lib/systemd/user/foldwatch.service", "/usr/lib/sysusers.d/foldwatch.conf",
		"/usr/share/bash-completion/completions/foldwatch", "/usr/share/fish/vendor_completions.d/foldwatch.fish",
		"/usr/share/man/man1/foldwatch.1.gz", "/usr/share/man/man1/foldwatch-search.1.gz", "/usr/share/doc/foldwatch/copyright",
	}
}

// missing returns what a listing of paths lacks.
func missing(listing string, want ...string) []string {
	have := strings.Fields(listing)
	for i, h := range have {
		have[i] = "/" + strings.TrimPrefix(strings.TrimPrefix(h, "./"), "/")
	}
	return slices.DeleteFunc(append(everywhere(), want...), func(w string) bool { return slices.Contains(have, w) })
}

func TestDeb(t *testing.T) {
	for _, deb := range made(t, "*.deb") {
		list := tool(t, "dpkg", "dpkg-deb", "--fsys-tarfile", deb)
		names := filepath.Join(t.TempDir(), "tar")
		if err := os.WriteFile(names, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		lacks := missing(tool(t, "tar", "tar", "--list", "--file", names), "/lib/systemd/system/foldwatch.service",
			"/usr/share/zsh/vendor-completions/_foldwatch", "/usr/share/doc/foldwatch/changelog.Debian.gz", "/usr/share/doc/foldwatch/LICENSES.gz")
		if len(lacks) > 0 {
			t.Errorf("%s lacks %v", filepath.Base(deb), lacks)
		}
		if depends := tool(t, "dpkg", "dpkg-deb", "--field", deb, "Depends"); !regexp.MustCompile(`^libc6 \(>= 2\.[0-9]+\), git \(>= 1:2\.[0-9]+\)\s*$`).MatchString(depends) {
			t.Errorf("%s depends on %s", filepath.Base(deb), depends)
		}
	}
}

// lintErrors are the lines of lintian that say E.
func lintErrors(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "E: ") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func TestLintian(t *testing.T) {
	for _, deb := range made(t, "*_amd64.deb") {
		out := tool(t, "lintian", "lintian", "--allow-root", "--no-cfg", deb)
		if e := lintErrors(out); len(e) > 0 {
			t.Errorf("lintian: %d errors\n%s", len(e), strings.Join(e, "\n"))
		}
		t.Logf("lintian: 0 errors, and:\n%s", out)
	}
	// It must find what is wrong in a package that is.
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := errors.Join(os.MkdirAll(filepath.Join(bad, "DEBIAN"), 0o755), os.MkdirAll(filepath.Join(bad, "usr/local/bin"), 0o755),
		os.WriteFile(filepath.Join(bad, "usr/local/bin/x"), []byte("#!/bin/sh\n"), 0o755),
		os.WriteFile(filepath.Join(bad, "DEBIAN/control"), []byte("Package: bad\nVersion: 1-1\nArchitecture: all\nMaintainer: A <a@debian.org>\nDescription: bad\n bad\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	tool(t, "dpkg", "dpkg-deb", "--root-owner-group", "--build", bad, bad+".deb")
	if e := lintErrors(tool(t, "lintian", "lintian", "--allow-root", "--no-cfg", bad+".deb")); len(e) == 0 {
		t.Error("lintian finds nothing in a package that is wrong")
	}
}

func TestRPM(t *testing.T) {
	for _, rpm := range made(t, "*.rpm") {
		db := t.TempDir()
		lacks := missing(tool(t, "rpm", "rpm", "--dbpath", db, "-qlp", rpm), "/usr/lib/systemd/system/foldwatch.service", "/usr/share/zsh/site-functions/_foldwatch",
			"/usr/share/licenses/foldwatch/LICENSE", "/usr/share/licenses/foldwatch/LICENSES.gz")
		if len(lacks) > 0 {
			t.Errorf("%s lacks %v", filepath.Base(rpm), lacks)
		}
		if r := tool(t, "rpm", "rpm", "--dbpath", db, "-qp", "--requires", rpm); !strings.Contains(r, "libc.so.6(GLIBC_2.") || !strings.Contains(r, "git >= "+minGit) {
			t.Errorf("%s requires %s", filepath.Base(rpm), r)
		}
		if r := tool(t, "rpm", "rpm", "--dbpath", db, "-qp", "--changelog", rpm); !strings.Contains(r, "foldwatch maintainers") {
			t.Errorf("%s has the changelog %q", filepath.Base(rpm), r)
		}
	}
}

func TestApk(t *testing.T) {
	for _, apk := range made(t, "*.apk") {
		dir := t.TempDir()
		lacks := missing(tool(t, "tar", "tar", "--list", "--gzip", "--ignore-zeros", "--file", apk), "/usr/lib/systemd/system/foldwatch.service")
		if len(lacks) > 0 {
			t.Errorf("%s lacks %v", filepath.Base(apk), lacks)
		}
		if info := tool(t, "tar", "tar", "--extract", "--gzip", "--ignore-zeros", "--to-stdout", "--file", apk, ".PKGINFO"); !strings.Contains(info, "depend = git>="+minGit) {
			t.Errorf("%s: %s", filepath.Base(apk), info)
		}
		// It runs where there is no glibc.
		tool(t, "tar", "tar", "--extract", "--gzip", "--ignore-zeros", "--file", apk, "--directory", dir, "usr/bin/foldwatch")
		f, err := elf.Open(filepath.Join(dir, "usr/bin/foldwatch"))
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
			t.Errorf("%s: the program asks for a loader: it is not static", filepath.Base(apk))
		}
		f.Close()
	}
}

func TestArch(t *testing.T) {
	for _, pkg := range made(t, "*.pkg.tar.zst") {
		lacks := missing(tool(t, "libarchive-tools", "bsdtar", "--list", "--file", pkg), "/.PKGINFO", "/.MTREE", "/.INSTALL",
			"/usr/lib/systemd/system/foldwatch.service", "/usr/share/licenses/foldwatch/LICENSE")
		if len(lacks) > 0 {
			t.Errorf("%s lacks %v", filepath.Base(pkg), lacks)
		}
		info := tool(t, "libarchive-tools", "bsdtar", "--extract", "--to-stdout", "--file", pkg, ".PKGINFO")
		if !strings.Contains(info, "depend = glibc>=2.") || !strings.Contains(info, "depend = git>="+minGit) {
			t.Errorf("%s: %s", filepath.Base(pkg), info)
		}
	}
}

func TestMSI(t *testing.T) {
	for _, msi := range made(t, "*-windows-amd64.msi") {
		for table, want := range map[string]string{
			"File":                   `(?m)^Exe\tProgram\tfoldwatch\.exe\t[0-9]{8}`,
			"ServiceInstall":         `(?m)^Service\tfoldwatch\tfoldwatch\t16\t3\t1\t\t\tNT SERVICE\\foldwatch\t\tserve --by scm\tProgram\t`,
			"ServiceControl":         `(?m)^Control\tfoldwatch\t162\t\t1\tProgram`,
			"Registry":               `FOLDWATCH_HOME=C:\\ProgramData\\foldwatch\[~\]\tProgram`,
			"Environment":            `(?m)^Path\t=-\*PATH\t\[~\];\[INSTALLDIR\]\tProgram`,
			"InstallExecuteSequence": `(?m)^WriteEnvironmentStrings\t\t5200`,
			"Property":               `(?m)^UpgradeCode\t\{[0-9A-F-]{36}\}`,
			// What has the same three numbers makes room, what has higher ones does not.
			"Upgrade": `(?m)^(\{[0-9A-F-]{36}\})\t\t([0-9.]+)\t\t513\t\tWIX_UPGRADE_DETECTED\s+\{[0-9A-F-]{36}\}\t[0-9.]+\t\t\t2\t\tWIX_DOWNGRADE_DETECTED`,
		} {
			if out := tool(t, "msitools", "msiinfo", "export", msi, table); !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("table %s has not %s:\n%s", table, want, out)
			}
		}
		dir := t.TempDir()
		tool(t, "msitools", "msiextract", "--directory", dir, msi)
		found, err := filepath.Glob(filepath.Join(dir, "*", "*", "foldwatch.exe"))
		if more, err2 := filepath.Glob(filepath.Join(dir, "*", "foldwatch.exe")); err2 == nil {
			found = append(found, more...)
		}
		if err != nil || len(found) != 1 {
			t.Fatalf("the installer holds %v (%v)", found, err)
		}
		if info, err := buildinfo.ReadFile(found[0]); err != nil || info.Path != "github.com/foldwatch/foldwatch/cmd/foldwatch" {
			t.Errorf("its program: %v", err)
		}
	}
}

// Manifests name files of the release, each by its digest.
func TestManifests(t *testing.T) {
	dist := os.Getenv("FOLDWATCH_DIST")
	for _, pattern := range []string{"homebrew/*.rb", "scoop/*.json", "winget/*.installer.yaml"} {
		for _, path := range made(t, pattern) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if f := manifestFaults(dist, string(text)); f != "" {
				t.Errorf("%s: %s", pattern, f)
			}
			if f := manifestFaults(dist, strings.ReplaceAll(string(text), "a", "b")); f == "" {
				t.Errorf("%s: nothing is wrong with another digest", pattern)
			}
			if strings.HasSuffix(path, ".json") && !json.Valid(text) {
				t.Errorf("%s is not JSON", path)
			}
			if strings.HasSuffix(path, ".rb") {
				if _, err := exec.LookPath("ruby"); err == nil {
					tool(t, "ruby", "ruby", "-c", path)
				}
			}
		}
	}
}

// manifestFaults says what is wrong with the first file and digest of a manifest.
func manifestFaults(dist, text string) string {
	address := regexp.MustCompile(`https://github\.com/foldwatch/foldwatch/releases/download/v[^/$]+/([^\s"$]+)`).FindStringSubmatch(text)
	sum := regexp.MustCompile(`(?i)(?:sha256|hash)"?:? ['"]?([0-9a-f]{64})\b`).FindStringSubmatch(text)
	if address == nil || sum == nil {
		return "no address or digest"
	}
	want, err := digest(filepath.Join(dist, address[1]))
	if err != nil {
		return err.Error()
	}
	if !strings.EqualFold(want, sum[1]) {
		return "digest of " + address[1] + " is " + want + ", not " + sum[1]
	}
	return ""
}

// A bill has what the program says it is linked from, no more and no less, with
// the terms of each.
func TestBills(t *testing.T) {
	debs := made(t, "*_amd64.deb")
	dir := t.TempDir()
	tool(t, "dpkg", "dpkg-deb", "--extract", debs[0], dir)
	info, err := buildinfo.ReadFile(filepath.Join(dir, "usr/bin/foldwatch"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + info.GoVersion}
	for _, d := range info.Deps {
		want = append(want, "pkg:golang/"+d.Path+"@"+d.Version)
	}
	f, err := os.Open(made(t, "*-linux-amd64.cdx.json")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *b.Components {
		got = append(got, c.PackageURL)
		if c.Licenses == nil || len(*c.Licenses) == 0 {
			t.Errorf("%s has no terms", c.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the bill has %d parts, the program %d", len(got), len(want))
	}
}

// builds returns all programs of the release, by the file that each was taken from.
func builds(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, deb := range made(t, "*.deb") {
		dir := t.TempDir()
		tool(t, "dpkg", "dpkg-deb", "--extract", deb, dir)
		text, err := os.ReadFile(filepath.Join(dir, "usr/bin/foldwatch"))
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(deb)] = text
	}
	for _, archive := range made(t, "*-linux-*.tar.gz") {
		text := tool(t, "tar", "tar", "--extract", "--gzip", "--to-stdout", "--wildcards", "--file", archive, "*/bin/foldwatch")
		found[filepath.Base(archive)] = []byte(text)
	}
	zips, err := filepath.Glob(filepath.Join(os.Getenv("FOLDWATCH_DIST"), "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range zips {
		r, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		f, err := r.Open("foldwatch.exe")
		if err != nil {
			t.Fatal(err)
		}
		if found[filepath.Base(path)], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
	}
	if bills := made(t, "*.cdx.json"); len(found) != len(bills) {
		t.Errorf("%d programs were found in the packages, and %d have a bill", len(found), len(bills))
	}
	return found
}

// No path of the machine it was made on is in any program.
func TestNoPathsOfThisMachine(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Dir(filepath.Dir(here)), filepath.Join(os.TempDir(), "go-build"), filepath.Join(os.TempDir(), "foldwatch-packages-")}
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOROOT"} {
		paths = append(paths, strings.TrimSpace(tool(t, "golang", "go", "env", name))+string(filepath.Separator))
	}
	for name, text := range builds(t) {
		if !bytes.Contains(text, []byte("github.com/foldwatch/foldwatch/")) {
			t.Errorf("%s: what was taken from it is no program of ours", name)
		}
		for _, path := range paths {
			if i := bytes.Index(text, []byte(path)); i >= 0 {
				t.Errorf("%s holds %q", name, text[i:min(len(text), i+120)])
			}
		}
	}
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                     "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person obtaining a\ncopy of": "MIT",
		"Redistribution and use in source and binary forms, with … Neither the name of":    "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without":               "BSD-2-Clause",
		"Mozilla Public License Version 2.0 … means either the GNU General Public License, Version 2.0, the GNU Lesser\n  General Public License, " +
			"Version 2.1, the GNU Affero General Public License, Version 3.0, or any later versions": "MPL-2.0",
		"Mozilla Public License Version 2.0": "MPL-2.0",
		"apache license version 2.0 … permission is hereby granted, free of charge, to any person obtaining a copy": "Apache-2.0 AND MIT",
		"GNU GENERAL PUBLIC LICENSE Version 2": "",
		"All rights reserved. Ask us first.":   "",
		"Apache License Version 2.0, or, if you like it better, the GNU\nLesser General Public License as published by …": "",
	} {
		got, err := classify([][]byte{[]byte(text)})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("classify(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := terms(t.TempDir()); err == nil {
		t.Error("a module without terms is taken")
	}
}

// Each build is a product of its own, or Windows takes a newer one for one that
// is installed already.
func TestProductCodes(t *testing.T) {
	codes := map[string]bool{}
	for _, r := range []release{{version: "1.2.4-dev.5", commit: "a"}, {version: "1.2.4-dev.6", commit: "b"}, {version: "1.2.4-dev.6", commit: "c"}, {version: "1.2.4", commit: "d"}} {
		codes[r.productCode()] = true
	}
	if len(codes) != 4 {
		t.Errorf("four builds have %d product codes", len(codes))
	}
}

// Packages ask for the git that the program asks for.
func TestMinGit(t *testing.T) {
	text, err := os.ReadFile("../../gitops/usergit/git.go")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`const MinGit = "([0-9.]+)"`).FindSubmatch(text); m == nil || string(m[1]) != minGit {
		t.Errorf("packages ask for git %s, gitops for %q", minGit, m)
	}
}

func TestStamp(t *testing.T) {
	if err := stamp([]byte("no summary here"), time.Unix(1, 0)); err == nil {
		t.Error("what has no summary is stamped")
	}
}

func TestGuid(t *testing.T) {
	if a, b := guid("product", "1.0.0"), guid("product", "1.0.1"); a == b || a != guid("product", "1.0.0") ||
		!regexp.MustCompile(`^\{[0-9A-F]{8}-[0-9A-F]{4}-8[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}\}$`).MatchString(a) {
		t.Errorf("guid: %s, %s", a, b)
	}
}

func TestApkVersion(t *testing.T) {
	for in, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.4-dev.5": "1.2.4_pre5", "1.3.0-rc.1": "1.3.0_rc1", "0.1.0-dev.7.dirty": "0.1.0_pre7_p1", "1.3.0-rc.1.dev.4": "1.3.0_rc1",
	} {
		if got := apkVersion(in); got != want {
			t.Errorf("apkVersion(%q) = %q, want %q", in, got, want)
		}
	}
}
