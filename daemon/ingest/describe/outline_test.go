package describe

import "testing"

// TestOutlineRulesCompile: a rule that does not is not found first by a daemon.
func TestOutlineRulesCompile(t *testing.T) {
	t.Parallel()
	for language, rule := range outlineRules {
		if rule.re().NumSubexp() == 0 {
			t.Errorf("%s: no group for a name", language)
		}
	}
}
