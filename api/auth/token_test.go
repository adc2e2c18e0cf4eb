package auth_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/meta/secret"
)

func TestSecretsAreWrittenOneWay(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	secrets := []auth.Secret{{}, {31: 1}}
	var all auth.Secret
	for i := range all {
		var one auth.Secret
		one[i], all[i] = 0xff, 0xff
		secrets = append(secrets, one)
	}
	secrets = append(secrets, all)
	for range 1000 {
		var s auth.Secret
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		secrets = append(secrets, s)
	}
	for _, s := range secrets {
		text := s.String()
		if len(text) != 53 || !strings.HasPrefix(text, "fwt_") {
			t.Fatalf("token %q", text)
		}
		if got, err := auth.ParseSecret(text); err != nil || got != s {
			t.Fatalf("ParseSecret(%q) = %x, %v, want %x", text, got, err, s)
		}
	}
	text := all.String()
	for i := range len(text) {
		for _, c := range []byte("0zZ_- \x00") {
			if bad := text[:i] + string(c) + text[i+1:]; bad != text {
				if _, err := auth.ParseSecret(bad); err == nil {
					t.Errorf("ParseSecret(%q): a changed character was not noticed", bad)
				}
			}
		}
	}
	for _, bad := range []string{"", "fwt_", text[4:], text + "0", text[:52], strings.ToUpper(text), "fwt_" + strings.Repeat("z", 49)} {
		if _, err := auth.ParseSecret(bad); err == nil {
			t.Errorf("ParseSecret(%q) succeeded", bad)
		}
	}
}

func TestTokensAreSeenInTexts(t *testing.T) {
	t.Parallel()
	token := auth.Secret{1, 2, 3}.String()
	for _, text := range []string{token, "a=" + token + "&b", "fwt_" + token, "fwt_ " + token, token[:24]} {
		if !auth.InText(text) {
			t.Errorf("InText(%q) = false", text)
		}
	}
	for _, text := range []string{"", "fwt_", "fwt_short", "soft_wt_" + strings.Repeat("x", 60), "fwt_-" + token[4:]} {
		if auth.InText(text) {
			t.Errorf("InText(%q) = true", text)
		}
	}
}

// TestATokenInATextIsFound: who scans texts for credentials knows ours, and only
// those.
func TestATokenInATextIsFound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var s auth.Secret
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		token := s.String()
		for _, text := range []string{token, "one\ntwo\n\tours = '" + token + "'\nthree", "(fwt_" + token + ")"} {
			want := []secret.Finding{{Rule: "foldwatch-token", Line: 1 + strings.Count(text[:strings.Index(text, token)], "\n")}}
			if got := secret.Scan([]byte(text)); !slices.Equal(got, want) {
				t.Fatalf("Scan(%q) = %v, want %v", text, got, want)
			}
		}
		c := "a"
		if token[20] == 'a' {
			c = "b"
		}
		for _, text := range []string{token[:len(token)-1], strings.ToUpper(token[:4]) + token[4:], token[:20] + c + token[21:]} {
			if got := secret.Scan([]byte(text)); len(got) > 0 {
				t.Fatalf("Scan(%q) = %v", text, got)
			}
		}
	}
}

func FuzzParseSecret(f *testing.F) {
	f.Add("")
	f.Add(auth.Secret{}.String())
	f.Add(auth.Secret{0xff, 31: 0xff}.String())
	f.Add("fwt_" + strings.Repeat("z", 49))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := auth.ParseSecret(text)
		if err == nil && s.String() != text {
			t.Errorf("ParseSecret(%q) = %x, which is written %q", text, s, s)
		}
		if err == nil && !auth.InText(text) {
			t.Errorf("InText(%q) = false for a token", text)
		}
	})
}

// FuzzAuthorization sends headers to a keeper of one token: only that token, in
// its one form, is let in.
func FuzzAuthorization(f *testing.F) {
	keeper, _ := open(f)
	made := create(f, keeper, auth.Owner(), "read")
	f.Add("Bearer " + made.Secret)
	f.Add("bearer  " + made.Secret)
	f.Add("Basic " + made.Secret)
	f.Add("Bearer " + auth.Secret{7}.String())
	f.Add("Bearer")
	f.Fuzz(func(t *testing.T, value string) {
		who, known, err := keeper.Authenticate(&http.Request{Header: http.Header{"Authorization": {value}}})
		scheme, text, _ := strings.Cut(value, " ")
		if right := strings.EqualFold(scheme, "bearer") && text == made.Secret; !known || right != (err == nil) || right != (who.ID == "token:"+made.ID) {
			t.Errorf("Authorization %q: %+v, %v, %v", value, who, known, err)
		}
	})
}
