package watch

import "syscall"

// onNetwork returns the kind of file system dir lies on if changes made to it
// by other machines cause no events, else "".
func onNetwork(dir string) string {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return ""
	}
	switch uint32(st.Type) { // the magic numbers of statfs(2)
	case 0x6969:
		return "NFS"
	case 0xFF534D42, 0xFE534D42, 0x517B:
		return "SMB"
	case 0x01021997:
		return "9p" // Windows drives under WSL
	case 0x65735546:
		return "FUSE"
	case 0x00C36400:
		return "Ceph"
	case 0x5346414F:
		return "AFS"
	}
	return ""
}
