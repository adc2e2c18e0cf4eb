package gitops

import (
	"io/fs"
	"syscall"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
)

// indexStatOf is what git keeps of a file in its index.
func indexStatOf(fi fs.FileInfo) gitindex.Stat {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return gitindex.Stat{}
	}
	return gitindex.Stat{
		CtimeSec: uint32(st.Ctim.Sec), CtimeNsec: uint32(st.Ctim.Nsec), MtimeSec: uint32(st.Mtim.Sec), MtimeNsec: uint32(st.Mtim.Nsec),
		Dev: uint32(st.Dev), Ino: uint32(st.Ino), UID: st.Uid, GID: st.Gid, Size: uint32(st.Size),
	}
}
