package weights

import "slices"

// A Listed is a model that can be fetched by name.
type Listed struct {
	Name     string
	Repo     string // at Host
	Kind     string // what it is, in a word or two
	Dim      int
	Bytes    int64 // about: 4 for each parameter that its card names; the host says exactly
	Licence  string
	Note     string
	Files    []string // that are needed
	Optional []string // that are taken where they are
}

// Host is where models come from if the user does not say.
const Host = "https://huggingface.co"

// List returns the models that are known by name.
func List() []Listed {
	sentence := []string{"config_sentence_transformers.json", "sentence_bert_config.json", "1_Pooling/config.json", "tokenizer_config.json", "README.md"}
	return []Listed{
		{
			Name: "all-MiniLM-L6-v2", Repo: "sentence-transformers/all-MiniLM-L6-v2", Kind: "sentence model (ONNX)", Dim: 384, Bytes: 91_000_000,
			Licence: "Apache-2.0", Note: "the model of Conch and Context Fabric; 256 tokens of a text",
			Files: []string{"tokenizer.json", "config.json", "onnx/model.onnx"}, Optional: sentence,
		},
		{
			Name: "bge-small-en-v1.5", Repo: "BAAI/bge-small-en-v1.5", Kind: "sentence model (ONNX)", Dim: 384, Bytes: 134_000_000,
			Licence: "MIT", Note: "twelve layers, so half as fast as MiniLM",
			Files: []string{"tokenizer.json", "config.json", "onnx/model.onnx"}, Optional: sentence,
		},
		{
			Name: "potion-base-8M", Repo: "minishlab/potion-base-8M", Kind: "static (model2vec)", Dim: 256, Bytes: 31_000_000,
			Licence: "MIT", Note: "fast enough for any project",
			Files: []string{"tokenizer.json", "config.json", "model.safetensors"}, Optional: []string{"README.md"},
		},
		{
			Name: "potion-retrieval-32M", Repo: "minishlab/potion-retrieval-32M", Kind: "static (model2vec)", Dim: 512, Bytes: 130_000_000,
			Licence: "MIT", Note: "made for search",
			Files: []string{"tokenizer.json", "config.json", "model.safetensors"}, Optional: []string{"README.md"},
		},
	}
}

// Named returns the model of that name.
func Named(name string) (Listed, bool) {
	all := List()
	i := slices.IndexFunc(all, func(l Listed) bool { return l.Name == name })
	if i < 0 {
		return Listed{}, false
	}
	return all[i], true
}
