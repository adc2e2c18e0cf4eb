package help

import (
	"testing"
)

func TestRoffEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a-b": `a\-b`, `C:\x`: `C:\ex`, ".env files": `\&.env files`, "a\n'b": "a\n\\&'b", `say "x"`: `say \(dqx\(dq`,
	} {
		if got := roffEscape(in); got != want {
			t.Errorf("roffEscape(%q) = %q, want %q", in, got, want)
		}
	}
}
