package auth_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/auth"
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
