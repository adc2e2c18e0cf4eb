package main

import (
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill writes the bill of materials of a program: what it is linked from, as the
// program itself says, in CycloneDX.
func (r *release) bill(p program, mods []module) error {
	root := purl("github.com/foldwatch/foldwatch", "v"+r.version)
	parts, refs := []cdx.Component{}, []string{}
	for _, m := range mods {
		if !m.in[p.String()] {
			continue
		}
		c := cdx.Component{
			Type: cdx.ComponentTypeLibrary, BOMRef: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version),
			Licenses: licensed(m.licence),
		}
		parts, refs = append(parts, c), append(refs, c.BOMRef)
	}
	b := cdx.NewBOM()
	b.SerialNumber = "urn:uuid:" + strings.ToLower(strings.Trim(guid("bill", r.version, r.commit, p.String()), "{}"))
	b.Metadata = &cdx.Metadata{
		Timestamp: r.date.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: root, Name: "foldwatch", Version: r.version, PackageURL: root, Licenses: licensed("Apache-2.0"),
		},
	}
	b.Components = &parts
	b.Dependencies = &[]cdx.Dependency{{Ref: root, Dependencies: &refs}}
	kind := p.arch
	if p.static {
		kind += "-static"
	}
	f, err := os.Create(r.name(p.os, kind+".cdx.json"))
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(b); err != nil {
		return err
	}
	return f.Close()
}

func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licensed(licence string) *cdx.Licenses {
	if strings.Contains(licence, " ") {
		return &cdx.Licenses{{Expression: licence}}
	}
	return &cdx.Licenses{{License: &cdx.License{ID: licence}}}
}
