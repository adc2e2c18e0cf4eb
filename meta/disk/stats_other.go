//go:build !linux

package disk

import "os"

// A dirHandle is an open folder by which its entries are looked at: nothing
// here, where files are looked at one by one.
type dirHandle struct{}

func (dirHandle) valid() bool { return false }

func (dirHandle) close() {}

func (dirHandle) lstat(string) (Info, error) { return Info{}, errUnsupported }

func openDir(*os.File, string) (dirHandle, error) { return dirHandle{}, errUnsupported }

// lstatIn looks at an entry of d, which is open as f.
func lstatIn(d *os.Root, _ *os.File, name string) (Info, error) {
	fi, err := d.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}
