package syntax

import "testing"

// What a template language puts between braces is masked, byte for byte, and
// nothing else is.
func TestMaskExpressions(t *testing.T) {
	for _, tc := range []struct{ open, in, want string }{
		{"{{", `<p>{{ a > b ? "<" : '}}' }}</p>`, `<p>xxxxxxxxxxxxxxxxxxxxxxxx</p>`},
		{"{{", "<p>{ a }</p>", "<p>{ a }</p>"},
		{"{{", "{% if a < b %}<p>", "xxxxxxxxxxxxxx<p>"},
		{"{", "<input on:keydown={(e) => e}>\n{#if a\n < b}", "<input on:keydown=xxxxxxxxxx>\nxxxxxx\nxxxxx"},
		{"{", "<script>if (a < b) { c }</script>{d}", "<script>if (a < b) { c }</script>xxx"},
		{"{", "<!-- {a} --><style>p { }</style>", "<!-- {a} --><style>p { }</style>"},
		{"{", "{it's", "{it's"},
		{"{", "{a}<script>{", "xxx<script>{"},
		{"{", "", ""},
	} {
		if got := string(maskExpressions([]byte(tc.in), tc.open)); got != tc.want {
			t.Errorf("maskExpressions(%q, %q) = %q, want %q", tc.in, tc.open, got, tc.want)
		}
	}
}
