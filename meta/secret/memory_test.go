package secret_test

import (
	"runtime"
	"testing"

	"github.com/foldwatch/foldwatch/meta/secret"
)

// TestScanHoldsLittle keeps the rules from filling the daemon: a detector for
// each of them, made at once, held 5 MB more for as long as it ran.
func TestScanHoldsLittle(t *testing.T) {
	secret.Scan([]byte("the token of a session is renewed\n"))
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 14<<20 {
		t.Errorf("%d MB are held after a scan that found nothing", m.HeapAlloc>>20)
	}
}
