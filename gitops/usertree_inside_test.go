package gitops

import "testing"

// TestKeptObjectsHaveABound: what one commit was made of is kept for the next, but not
// the files of a first commit of many memories, for good.
func TestKeptObjectsHaveABound(t *testing.T) {
	t.Parallel()
	u := newUserObjects(nil, 20)
	kept := func() (n int) {
		for _, k := range []keptObjects{u.kept, u.aged} {
			for _, b := range k.blobs {
				n += len(b)
			}
		}
		return n
	}
	use := func(files int) {
		for i := range files {
			b := make([]byte, 1<<20)
			b[0] = byte(i)
			if _, err := u.blob(t.Context(), u.put("blob", b)); err != nil {
				t.Fatal(err)
			}
		}
		u.close()
	}
	use(3)
	if n := kept(); n != 3<<20 {
		t.Errorf("after a small commit %d bytes are kept", n)
	}
	use(maxAged>>20 + 2)
	if n := kept(); n > maxAged {
		t.Errorf("after a large commit %d bytes are kept, at most %d", n, maxAged)
	}
}
