package recall

import "testing"

func TestPassageDoesNotRepeatTheTitle(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"heading", "# Session policy\n\nThey live 7 days.\n", "They live 7 days."},
		{"another level, case and room", "\n\n##  session Policy \r\nThey live 7 days.\n", "They live 7 days."},
		{"another heading", "# Why\n\nThey live 7 days.\n", "# Why\nThey live 7 days."},
		{"no heading", "Session policy\nThey live 7 days.\n", "Session policy\nThey live 7 days."},
		{"later heading", "They live 7 days.\n\n# Session policy\n", "They live 7 days.\n# Session policy"},
		{"nothing else", "# Session policy", ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := passage(withoutTitle(tc.body, "Session policy"), queryTerms("days"), 3); got != tc.want {
				t.Errorf("passage = %q, want %q", got, tc.want)
			}
		})
	}
}
