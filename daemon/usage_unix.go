//go:build unix

package daemon

import "syscall"

// usage returns the resident bytes of this process and the CPU seconds of it
// and its ended children, as far as the system tells.
func usage() (rss int64, cpu float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			cpu += seconds(u.Utime) + seconds(u.Stime)
		}
	}
	return residentBytes(), cpu
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
