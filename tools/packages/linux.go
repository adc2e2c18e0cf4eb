package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"  // registers itself
	_ "github.com/goreleaser/nfpm/v2/arch" // likewise
	_ "github.com/goreleaser/nfpm/v2/deb"  // likewise
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // likewise
)

// linux makes packages of those kinds.
func (r *release) linux(p program, b beside, kinds ...string) error {
	for _, kind := range kinds {
		if err := r.pack(p, b, kind); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func (r *release) pack(p program, b beside, kind string) error {
	info, err := r.info(p, b, kind)
	if err != nil {
		return err
	}
	maker, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.Validate(info); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, maker.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(maker.Package(info, f), f.Close())
}

func (r *release) info(p program, b beside, kind string) (*nfpm.Info, error) {
	changelog, err := r.changelog()
	if err != nil {
		return nil, err
	}
	info := &nfpm.Info{
		Name: "foldwatch", Arch: p.arch, Platform: "linux", Version: r.version, Release: "1", MTime: r.date, Changelog: changelog,
		Section: "devel", Priority: "optional", Maintainer: maintainer, Vendor: "foldwatch", Homepage: homepage, License: "Apache-2.0", DisableGlobbing: true,
		Description: summary + "\n" +
			"foldwatch indexes the source of your git checkouts, keeps what was learned as\n" +
			"markdown under fold/, and answers you and your coding agents from both. It\n" +
			"runs as one daemon per user; nothing leaves the machine unless you say so.",
	}
	scripts := map[string]string{"postinst": "", "prerm": "", "postrm": ""}
	for name := range scripts {
		if scripts[name], err = r.script(name); err != nil {
			return nil, err
		}
	}
	info.Scripts = nfpm.Scripts{PostInstall: scripts["postinst"], PreRemove: scripts["prerm"], PostRemove: scripts["postrm"]}
	info.RPM.BuildHost = "localhost"
	info.RPM.Summary = summary
	info.ArchLinux.Packager = maintainer
	switch kind {
	case "archlinux":
		info.Description = summary
	case "apk":
		info.Version, info.VersionSchema = apkVersion(r.version), "none"
	case "rpm":
		info.Recommends = []string{"bash-completion"}
	}
	if info.Depends, err = needs(p.path, kind); err != nil {
		return nil, err
	}
	info.Depends = append(info.Depends, git(kind))
	if info.Contents, err = r.contents(p, b, kind); err != nil {
		return nil, err
	}
	return info, nil
}

// minGit is the oldest git that foldwatch works with, as gitops has it.
const minGit = "2.31"

// git is the dependency on it, as that kind of package writes one. Debian's
// versions of git begin with an epoch.
func git(kind string) string {
	switch kind {
	case "deb":
		return "git (>= 1:" + minGit + ")"
	case "rpm":
		return "git >= " + minGit
	}
	return "git>=" + minGit
}

// script returns where a script of the tree is that has the release's time, which
// apk keeps.
func (r *release) script(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.tree, "packaging", "linux", name))
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.work, name)
	return path, errors.Join(os.WriteFile(path, text, 0o755), os.Chtimes(path, r.date, r.date))
}

// apkVersion writes a version as apk compares it: it knows few words for what
// comes before a release, and wants a number behind each.
func apkVersion(version string) string {
	numbers, before, ok := strings.Cut(version, "-")
	if !ok {
		return version
	}
	before, dirty := strings.CutSuffix(before, ".dirty")
	word, n, _ := strings.Cut(before, ".")
	if !slices.Contains([]string{"alpha", "beta", "rc"}, word) {
		word = "pre"
	}
	n, _, _ = strings.Cut(n, ".")
	v := numbers + "_" + word + n
	if dirty {
		v += "_p1"
	}
	return v
}

// contents are the files of a package, where its kind of system has them.
func (r *release) contents(p program, b beside, kind string) (files.Contents, error) {
	place := func(mode os.FileMode) *files.ContentFileInfo {
		return &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date}
	}
	all := files.Contents{{Source: p.path, Destination: "/usr/bin/foldwatch", FileInfo: place(0o755)}}
	for name, text := range b.files {
		source := filepath.Join(r.work, "beside", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(source), 0o755), os.WriteFile(source, text, 0o600)); err != nil {
			return nil, err
		}
		dest := "/" + name
		switch {
		case kind == "deb" && name == "usr/share/doc/foldwatch/LICENSE":
			continue // Debian has its text, and wants it once
		case kind == "deb" && strings.HasPrefix(name, "usr/share/zsh/"):
			dest = strings.Replace(dest, "site-functions", "vendor-completions", 1)
		case kind == "deb" && strings.HasPrefix(name, "usr/lib/systemd/system/"):
			dest = strings.Replace(dest, "/usr/lib", "/lib", 1) // until /lib is in /usr for its tools too
		case kind != "deb" && strings.HasSuffix(name, "/LICENSE"), kind != "deb" && strings.HasSuffix(name, "/LICENSES.gz"):
			dest = strings.Replace(dest, "/doc/", "/licenses/", 1)
		}
		all = append(all, &files.Content{Source: source, Destination: dest, FileInfo: place(0o644)})
	}
	slices.SortFunc(all, func(a, b *files.Content) int { return strings.Compare(a.Destination, b.Destination) })
	return all, nil
}

// needs says what of the system the program needs: nothing if it is static, else
// a C library that has the newest symbol it asks for.
func needs(path, kind string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && len(libs) > 0 {
		return nil, err
	}
	if len(libs) == 0 {
		return nil, nil
	}
	newest := 0 // minor version of 2.x
	for _, s := range symbols {
		minor, ok := strings.CutPrefix(s.Version, "GLIBC_2.")
		if !ok {
			continue
		}
		minor, _, _ = strings.Cut(minor, ".")
		if n, err := strconv.Atoi(minor); err == nil && n > newest {
			newest = n
		}
	}
	for _, lib := range libs {
		if !slices.Contains([]string{
			"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libresolv.so.2", "librt.so.1",
			"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
		}, lib) {
			return nil, fmt.Errorf("it needs %s, which no package is known to have", lib)
		}
	}
	v := "2." + strconv.Itoa(newest)
	switch kind {
	case "deb":
		return []string{"libc6 (>= " + v + ")"}, nil
	case "rpm":
		return []string{"libc.so.6(GLIBC_" + v + ")(64bit)"}, nil
	case "archlinux":
		return []string{"glibc>=" + v}, nil
	}
	return nil, fmt.Errorf("a package of kind %s must need nothing, and this needs %s", kind, strings.Join(libs, ", "))
}
