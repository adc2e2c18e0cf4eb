package conf

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestEmbeddingWeight(t *testing.T) {
	for text, want := range map[string]string{`"auto"`: "auto", `"0.3"`: "0.3", "0.3": "0.3", "1": "1"} {
		c, _, err := parse("config.toml", []byte("[embedding]\nweight = "+text+"\n[projects.app.embedding]\nweight = 0\n"), nil, nil)
		if err != nil || c.Embedding.Weight != want || c.For("app").Embedding.Weight != "0" {
			t.Errorf("weight = %s: %+v, %v", text, c.Embedding, err)
		}
		if _, fixed := c.Embedding.FixedWeight(); fixed == (want == "auto") {
			t.Errorf("weight = %s is fixed: %v", text, fixed)
		}
	}
	for _, text := range []string{`"much"`, "1.5", "-1", "nan", "true"} {
		if _, _, err := parse("config.toml", []byte("[projects.app.embedding]\nweight = "+text), nil, nil); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("weight = %s: %v, want ErrInvalid", text, err)
		}
	}
}

func TestProviderBudgetAndKeyFile(t *testing.T) {
	key := "sk-" + "test"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	toml := "[providers.openai]\ndaily_texts = 1000\ndaily_tokens = 0\nkey_file = '" + file + "'\n"
	c, _, err := parse("config.toml", []byte(toml), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Provider("openai")
	if got, err := c.ReadKey(p); err != nil || got != key || p.DailyTexts != 1000 {
		t.Errorf("ReadKey = %q, %v; %+v", got, err, p)
	}
	for _, bad := range []string{"", "two words", "two\nlines"} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadKey(p); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("ReadKey of %q = %v", bad, err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadKey(p); !errors.Is(err, fold.ErrForbidden) || fold.Hint(err) == "" {
			t.Errorf("ReadKey of a file for all = %v", err)
		}
	}
	for _, bad := range []string{"daily_texts = -1", `daily_tokens = "many"`, "daily_text = 1"} {
		if _, _, err := parse("config.toml", []byte("[providers.openai]\n"+bad), nil, nil); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", bad, err)
		}
	}
}
