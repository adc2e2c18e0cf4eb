package token_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/token"
)

// vocab numbers tokens in their order.
func vocab(tokens ...string) map[string]int {
	out := map[string]int{}
	for i, s := range tokens {
		out[s] = i
	}
	return out
}

func file(t testing.TB, parts map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type object = map[string]any

func bertFile(t testing.TB) []byte {
	return file(t, object{
		"normalizer":    object{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": object{"type": "BertPreTokenizer"},
		"post_processor": object{
			"type": "TemplateProcessing",
			"single": []any{
				object{"SpecialToken": object{"id": "[CLS]", "type_id": 0}}, object{"Sequence": object{"id": "A", "type_id": 0}}, object{"SpecialToken": object{"id": "[SEP]", "type_id": 0}},
			},
			"special_tokens": object{"[CLS]": object{"id": "[CLS]", "ids": []int{1}, "tokens": []string{"[CLS]"}}, "[SEP]": object{"id": "[SEP]", "ids": []int{2}}},
		},
		"added_tokens": []any{object{"id": 0, "content": "[UNK]", "special": true}, object{"id": 1, "content": "[CLS]", "special": true}},
		"truncation":   object{"max_length": 128},
		"model": object{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
			"vocab": vocab("[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe", "!", "漢", "字", "the", "[", "]", "##s", "cls", "##aff"),
		},
	})
}

func gpt2File(t testing.TB) []byte {
	return file(t, object{
		"pre_tokenizer": object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"model": object{
			"type": "BPE", "vocab": vocab("l", "o", "w", "e", "r", "Ġ", "lo", "low", "er", "Ġlow", "Ã", "©", "Ã©", "Ċ", "1", "2"),
			"merges": []any{"l o", "lo w", "e r", []string{"Ġ", "low"}, "Ã ©"},
		},
	})
}

func unigramFile(t testing.TB) []byte {
	return file(t, object{
		"normalizer":     object{"type": "Sequence", "normalizers": []any{object{"type": "Precompiled", "precompiled_charsmap": "x"}, object{"type": "Replace", "pattern": object{"Regex": " {2,}"}, "content": " "}}},
		"pre_tokenizer":  object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
		"post_processor": object{"type": "RobertaProcessing", "sep": []any{"</s>", 2}, "cls": []any{"<s>", 0}},
		"model": object{"type": "Unigram", "unk_id": 3, "vocab": []any{
			[]any{"<s>", 0}, []any{"<pad>", 0}, []any{"</s>", 0}, []any{"<unk>", 0}, []any{"▁", -4}, []any{"▁hello", -5}, []any{"▁he", -3}, []any{"llo", -3.5}, []any{"l", -6}, []any{"o", -6}, []any{"▁wor", -4}, []any{"ld", -4},
		}},
	})
}

func llamaFile(t testing.TB) []byte {
	return file(t, object{
		"normalizer": object{"type": "Sequence", "normalizers": []any{object{"type": "Prepend", "prepend": "▁"}, object{"type": "Replace", "pattern": object{"String": " "}, "content": "▁"}}},
		"model": object{
			"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "<unk>",
			"vocab": vocab("<unk>", "▁", "a", "▁a", "<0xC3>", "<0xA9>"), "merges": []any{"▁ a"},
		},
	})
}

func parse(t testing.TB, b []byte) *token.Tokenizer {
	t.Helper()
	tok, err := token.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		name    string
		file    func(testing.TB) []byte
		text    string
		special bool
		want    []int32
	}{
		{"the classic", bertFile, "unaffable", false, []int32{3, 15, 5}},
		{"specials around", bertFile, "The CAFÉ!", true, []int32{1, 10, 6, 7, 2}},
		{"accents as marks", bertFile, "cafe\u0301", false, []int32{6}},
		{"Chinese", bertFile, "漢字the", false, []int32{8, 9, 10}},
		{"unknown is one", bertFile, "thexyz the", false, []int32{0, 10}},
		{"white space and control", bertFile, " the\tthe\x00\r\n", false, []int32{10, 10}},
		{"no special token in text", bertFile, "[CLS]", false, []int32{11, 14, 12}},
		{"nothing", bertFile, "", true, []int32{1, 2}},
		{"merges in order", gpt2File, "lower low", false, []int32{7, 8, 9}},
		{"bytes", gpt2File, "é\n12", false, []int32{12, 13, 14, 15}},
		{"blanks", gpt2File, "low   low", false, []int32{7, 5, 5, 9}},
		{"most likely", unigramFile, "hello  world", true, []int32{0, 5, 10, 11, 2}},
		{"pieces", unigramFile, "hellol", false, []int32{5, 8}},
		{"unknown are one", unigramFile, "hexyz", false, []int32{6, 3}},
		{"bytes as tokens", llamaFile, "aé", false, []int32{3, 4, 5}},
		{"unknown fused", llamaFile, "a漢字a", false, []int32{3, 0, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := parse(t, tc.file(t)).Encode(tc.text, tc.special, 100)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("Encode(%q) = %v, want %v", tc.text, got, tc.want)
			}
		})
	}
}

func TestEncodeKeepsToItsBounds(t *testing.T) {
	tok := parse(t, bertFile(t))
	got := tok.Encode(strings.Repeat("the ", 100_000), true, 64)
	if len(got) != 64 || got[0] != 1 || got[63] != 2 || got[62] != 10 {
		t.Errorf("%d tokens, %v", len(got), got)
	}
	if tok.Max() != 128 || tok.Size() != 16 {
		t.Errorf("Max, Size = %d, %d", tok.Max(), tok.Size())
	}
	if u, ok := tok.Unknown(); !ok || u != 0 {
		t.Errorf("Unknown = %d, %v", u, ok)
	}
	for _, f := range []func(testing.TB) []byte{bertFile, gpt2File, unigramFile, llamaFile} {
		if got := parse(t, f(t)).Encode(strings.Repeat("漢x", 50_000), false, 512); len(got) > 512 {
			t.Errorf("%d tokens", len(got))
		}
	}
}

func TestSplits(t *testing.T) {
	// each piece is unknown or known as itself: WordLevel shows how text was cut
	words := func(pre any, text string, known ...string) []string {
		v := vocab(append([]string{"?"}, known...)...)
		tok := parse(t, file(t, object{"pre_tokenizer": pre, "model": object{"type": "WordLevel", "unk_token": "?", "vocab": v}}))
		var out []string
		for _, id := range tok.Encode(text, false, 100) {
			for s, n := range v {
				if int32(n) == id {
					out = append(out, s)
				}
			}
		}
		return out
	}
	split := func(behavior string) any {
		return object{"type": "Split", "pattern": object{"String": "-"}, "behavior": behavior, "invert": false}
	}
	for _, tc := range []struct {
		pre  any
		text string
		want []string
	}{
		{object{"type": "Whitespace"}, "a_b, c", []string{"a_b", ",", "c"}},
		{object{"type": "WhitespaceSplit"}, "a_b, c", []string{"a_b,", "c"}},
		{object{"type": "Punctuation"}, "a,b", []string{"a", ",", "b"}},
		{object{"type": "Digits", "individual_digits": true}, "a12b", []string{"a", "1", "2", "b"}},
		{object{"type": "Digits", "individual_digits": false}, "a12b", []string{"a", "12", "b"}},
		{split("Removed"), "a-b--c", []string{"a", "b", "c"}},
		{split("Isolated"), "a-b--c", []string{"a", "-", "b", "-", "-", "c"}},
		{split("MergedWithPrevious"), "a-b--c", []string{"a-", "b-", "-", "c"}},
		{split("MergedWithNext"), "a-b--c", []string{"a", "-b", "-", "-c"}},
		{split("Contiguous"), "a-b--c", []string{"a", "-", "b", "--", "c"}},
		{object{"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"}, "a b  c", []string{"a", "_b", "_", "_c"}},
		{object{"type": "Sequence", "pretokenizers": []any{object{"type": "WhitespaceSplit"}, object{"type": "Digits"}}}, "a1 2", []string{"a", "1", "2"}},
	} {
		if got := words(tc.pre, tc.text, slices.Compact(slices.Sorted(slices.Values(tc.want)))...); !slices.Equal(got, tc.want) {
			t.Errorf("%v cuts %q into %q, want %q", tc.pre, tc.text, got, tc.want)
		}
	}
}

func TestAddedTokens(t *testing.T) {
	tok := parse(t, file(t, object{
		"pre_tokenizer": object{"type": "WhitespaceSplit"},
		"added_tokens":  []any{object{"id": 7, "content": "<tab>", "special": false}, object{"id": 8, "content": "<tab><tab>", "special": false}},
		"model":         object{"type": "WordLevel", "unk_token": "?", "vocab": vocab("?", "a")},
	}))
	if got := tok.Encode("a<tab>a<tab><tab>x", false, 100); !slices.Equal(got, []int32{1, 7, 1, 8, 0}) {
		t.Errorf("Encode = %v", got)
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	level := object{"type": "WordLevel", "unk_token": "?", "vocab": vocab("?", "a")}
	for name, b := range map[string][]byte{
		"no JSON":       []byte("<html>"),
		"no model":      []byte("{}"),
		"no vocabulary": file(t, object{"model": object{"type": "WordPiece"}}),
		"a model":       file(t, object{"model": object{"type": "Magic", "vocab": vocab("a")}}),
		"normalizer":    file(t, object{"model": level, "normalizer": object{"type": "Magic"}}),
		"splitter":      file(t, object{"model": level, "pre_tokenizer": object{"type": "Magic"}}),
		"look-ahead":    file(t, object{"model": level, "pre_tokenizer": object{"type": "Split", "pattern": object{"Regex": `a(?!b)`}, "behavior": "Isolated"}}),
		"processor":     file(t, object{"model": level, "post_processor": object{"type": "Magic"}}),
		"merge":         file(t, object{"model": object{"type": "BPE", "vocab": vocab("a"), "merges": []any{"a"}}}),
		"score":         file(t, object{"model": object{"type": "Unigram", "vocab": []any{[]any{"a", "b"}}}}),
		"unknown":       file(t, object{"model": object{"type": "Unigram", "unk_id": 9, "vocab": []any{[]any{"a", 0}}}}),
		"number":        file(t, object{"model": object{"type": "WordLevel", "vocab": object{"a": -1}}}),
		"large number":  file(t, object{"model": object{"type": "WordLevel", "vocab": object{"a": 1 << 30}}}),
		"deep":          []byte(`{"model":{"type":"WordLevel","vocab":{"a":0}},"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 20) + strings.Repeat("]}", 20) + "}"),
	} {
		if _, err := token.Parse(b); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []func(testing.TB) []byte{bertFile, gpt2File, unigramFile, llamaFile} {
		f.Add(file(f), "unaffable Café 漢字 [CLS] lower\n12  x")
	}
	f.Fuzz(func(t *testing.T, b []byte, text string) {
		tok, err := token.Parse(b)
		if err != nil {
			return
		}
		for _, id := range tok.Encode(text, false, 50) {
			if id < 0 || int(id) >= tok.Size() {
				t.Errorf("token %d of %d", id, tok.Size())
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	tokens := []string{"[UNK]", "[CLS]", "[SEP]"}
	for c := 'a'; c <= 'z'; c++ {
		tokens = append(tokens, string(c), "##"+string(c))
	}
	for i := range 30_000 {
		tokens = append(tokens, fmt.Sprintf("w%x", i))
	}
	tok := parse(b, file(b, object{
		"normalizer": object{"type": "BertNormalizer"}, "pre_tokenizer": object{"type": "BertPreTokenizer"},
		"model": object{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab(tokens...)},
	}))
	text := strings.Repeat("func (p *Pool) setMaxOpenConns(n int) error { return p.apply() }\n", 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Encode(text, true, 512)
	}
}
