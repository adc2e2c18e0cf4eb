package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// msi is what the installer's template is filled with.
type msi struct {
	Version, Numbers                                      string // Windows compares three numbers
	ProductCode, UpgradeCode, ComponentCode, LicencesCode string
	Service                                               row
}

// guid is a code that is always the same for the same words, in the form and
// with the marks of a UUID made from a name (version 8 of RFC 9562, since the
// digest is SHA-256).
func guid(words ...string) string {
	b := sha256.Sum256([]byte("github.com/foldwatch/foldwatch\x00" + strings.Join(words, "\x00")))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return strings.ToUpper(fmt.Sprintf("{%x-%x-%x-%x-%x}", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16]))
}

// productCode is another one for each build: one that has the code of what is
// installed is not taken for an upgrade of it.
func (r *release) productCode() string { return guid("product", r.version, r.commit) }

// windows makes the zip, and the installer where wixl is here.
func (r *release) windows(ctx context.Context, p program, b beside, mods []module) error {
	bin, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	licence := bytes.ReplaceAll(b.files["usr/share/doc/foldwatch/LICENSE"], []byte("\n"), []byte("\r\n"))
	texts := bytes.ReplaceAll(licences(mods), []byte("\n"), []byte("\r\n"))
	files := map[string][]byte{"foldwatch.exe": bin, "LICENSE.txt": licence, "LICENSES.txt": texts}
	if err := writeZip(r.name(p.os, p.arch+".zip"), files, r.date); err != nil {
		return err
	}
	for _, tool := range []string{"wixl", "msibuild"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				return fmt.Errorf("%s is missing (Debian: apt-get install wixl msitools)", tool)
			}
			fmt.Fprintf(os.Stderr, "SKIP: installer for Windows: %s is missing (Debian: apt-get install wixl msitools)\n", tool)
			return nil
		}
	}
	numbers := regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`).FindString(r.version)
	if numbers == "" {
		return fmt.Errorf("version %q does not begin with three numbers", r.version)
	}
	wxs, err := r.fill("packaging/windows/foldwatch.wxs", msi{
		Version: r.version, Numbers: numbers, Service: b.service,
		ProductCode: r.productCode(), UpgradeCode: guid("upgrade"), ComponentCode: guid("program"), LicencesCode: guid("licences"),
	})
	if err != nil {
		return err
	}
	dir := filepath.Join(r.work, "msi")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files["foldwatch.wxs"] = wxs
	// Folders of the user's and the machine's PATH are parted by semicolons; [~]
	// is what is there already.
	files["Environment.idt"] = []byte("Environment\tName\tValue\tComponent_\r\ns72\tl255\tL255\ts72\r\nEnvironment\tEnvironment\r\nPath\t=-*PATH\t[~];[INSTALLDIR]\tProgram\r\n")
	files["Upgrade.idt"] = upgradeTable(numbers)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(path, r.date, r.date); err != nil { // the cabinet keeps it
			return err
		}
	}
	return r.installer(ctx, dir, p)
}

// upgradeTable says which products make room for this one, and which refuse it.
// Windows compares three numbers, which are the same from one build for trying to
// the next and to the release: wixl would leave these beside each other. So what
// has our numbers makes room too (513: keep its features, and the highest version
// counts); what has higher ones is only seen (2), and ends the installation.
func upgradeTable(numbers string) []byte {
	return []byte("UpgradeCode\tVersionMin\tVersionMax\tLanguage\tAttributes\tRemove\tActionProperty\r\n" +
		"s38\tS20\tS20\tS255\ti4\tS255\ts72\r\n" +
		"Upgrade\tUpgradeCode\tVersionMin\tVersionMax\tLanguage\tAttributes\r\n" +
		guid("upgrade") + "\t\t" + numbers + "\t\t513\t\tWIX_UPGRADE_DETECTED\r\n" +
		guid("upgrade") + "\t" + numbers + "\t\t\t2\t\tWIX_DOWNGRADE_DETECTED\r\n")
}

// installer has wixl make the database, adds the tables that it does not know
// or has otherwise, and puts fixed values in place of a random one and of the time.
func (r *release) installer(ctx context.Context, dir string, p program) error {
	out := r.name(p.os, p.arch+".msi")
	for _, argv := range [][]string{
		{"wixl", "--arch", "x64", "--output", out, "foldwatch.wxs"},
		{"msibuild", out, "-i", "Environment.idt"},
		{"msibuild", out, "-i", "Upgrade.idt"},
		{"msibuild", out, "-q", "INSERT INTO InstallExecuteSequence (Action, Sequence) VALUES ('RemoveEnvironmentStrings', 3300)"},
		{"msibuild", out, "-q", "INSERT INTO InstallExecuteSequence (Action, Sequence) VALUES ('WriteEnvironmentStrings', 5200)"},
		{"msibuild", out, "-s", "foldwatch " + r.version, "foldwatch", "x64;1033", guid("package", r.version, r.commit)},
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TZ=UTC")
		if text, err := cmd.CombinedOutput(); err != nil || bytes.Contains(text, []byte("ERROR")) {
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, text)
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if err := stamp(text, r.date); err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// stamp sets when the database says that it was made. Its summary is a property
// set of OLE: a format id, where its properties begin, how many there are, and
// for each its number and place; times are type 64, in 100 ns since 1601.
func stamp(text []byte, at time.Time) error {
	format := []byte("\xe0\x85\x9f\xf2\xf9\x4f\x68\x10\xab\x91\x08\x00\x2b\x27\xb3\xd9")
	i := bytes.Index(text, format)
	if i < 28 || bytes.Contains(text[i+1:], format) {
		return fmt.Errorf("the installer has not one summary")
	}
	set := text[i-28:] // the header before the format id
	begin := int(binary.LittleEndian.Uint32(set[44:]))
	done := 0
	for n := range int(binary.LittleEndian.Uint32(set[begin+4:])) {
		prop := set[begin+8+8*n:]
		id, off := binary.LittleEndian.Uint32(prop), begin+int(binary.LittleEndian.Uint32(prop[4:]))
		if (id == 12 || id == 13) && binary.LittleEndian.Uint32(set[off:]) == 64 { // made, last saved
			binary.LittleEndian.PutUint64(set[off+4:], uint64(at.Unix()+11644473600)*10_000_000)
			done++
		}
	}
	if done != 2 {
		return fmt.Errorf("the installer's summary has %d times, not 2", done)
	}
	return nil
}
