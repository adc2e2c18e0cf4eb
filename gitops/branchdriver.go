package gitops

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// mergeDriver is the name of our driver in attributes and configuration.
const mergeDriver = "foldwatch"

// A driverLook is what was found about the merge driver, and what says that it is
// still so.
type driverLook struct {
	conf   *userConf
	at     time.Time        // of conf
	stamps map[string]stamp // of files that may set attributes
	merges bool
}

// MergesMemories reports whether git merges memories by their meaning in this
// checkout: its attributes name our driver for them and for the project file, and its configuration says
// which program that is. Git is asked when one of their files moved.
func (s *Store) MergesMemories(ctx context.Context) (bool, error) {
	l := s.l.mainLayout()
	s.driving.Lock()
	defer s.driving.Unlock()
	look := &s.driver
	if look.conf == nil {
		look.conf = &userConf{l: l}
	}
	if err := look.conf.read(ctx, s.opt.Now()); err != nil {
		return false, err
	}
	stamps := map[string]stamp{}
	for _, p := range append(attributeFiles(l, look.conf), filepath.Join(l.WorkTree, s.foldDir(), ".gitattributes")) {
		stamps[p] = stampAt(p).settled(time.Now())
	}
	if look.at.Equal(look.conf.at) && maps.EqualFunc(look.stamps, stamps, stamp.same) {
		return look.merges, nil
	}
	merges := false
	if look.conf.get("merge."+mergeDriver+".driver") != "" {
		out, err := l.git("check-attr", "-z", "merge", "--", s.foldDir()+"/0/0/0000000000000000.md", s.foldDir()+"/"+fold.ProjectFile).output(ctx)
		if err != nil {
			return false, fmt.Errorf("read attributes: %w", err)
		}
		f := strings.Split(string(out), "\x00")
		merges = len(f) > 5 && f[2] == mergeDriver && f[5] == mergeDriver
	}
	look.at, look.stamps, look.merges = look.conf.at, stamps, merges
	return merges, nil
}

// attributeFiles are those outside the folders of memories that may set
// attributes.
func attributeFiles(l *Layout, conf *userConf) []string {
	files := []string{filepath.Join(l.CommonDir, "info", "attributes"), filepath.Join(l.WorkTree, ".gitattributes"), "/etc/gitattributes"}
	for _, p := range configFiles() {
		files = append(files, filepath.Join(filepath.Dir(p), "attributes"))
	}
	if p := conf.get("core.attributesfile"); filepath.IsAbs(p) {
		files = append(files, p)
	}
	return files
}
