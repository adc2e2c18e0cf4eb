package embed

import (
	"strings"
)

// A capability is what a model can do, and what it wants. The zero value is a model
// nobody told us about: it works, one careful batch at a time.
type capability struct {
	model string // of the provider; matched without a tag such as ":latest"

	dim  int  // as it comes; 0 is found out by asking
	cuts bool // a smaller dimension may be asked for

	texts  int // of one request at most; 0 means 32
	bytes  int // of one request at most; 0 means 256 KiB
	tokens int // of one text; what is longer is cut by us. 0 means 512

	document, query string // put before a text
	note            string // shown in the list
	otherServer     bool   // not at the usual address: of a server that speaks alike
}

// How many bytes of text a token has at least, mostly: code has about 3, and what
// is cut too late is cut by the provider or refused and cut again.
const tokenBytes = 3

// capabilities is the one table of what remote models want, by kind of provider.
func capabilities() map[string][]capability {
	const prefixQ, prefixD = "search_query: ", "search_document: "
	return map[string][]capability{
		"ollama": {
			{model: "nomic-embed-text", dim: 768, texts: 64, tokens: 2048, document: prefixD, query: prefixQ},
			{model: "mxbai-embed-large", dim: 1024, texts: 32, tokens: 512, query: "Represent this sentence for searching relevant passages: "},
			{model: "all-minilm", dim: 384, texts: 128, tokens: 256},
			{model: "bge-m3", dim: 1024, texts: 32, tokens: 8192},
			{model: "snowflake-arctic-embed", texts: 32, tokens: 512, query: "Represent this sentence for searching relevant passages: "},
			{model: "embeddinggemma", dim: 768, texts: 32, tokens: 2048, document: "title: none | text: ", query: "task: search result | query: "},
			{model: "qwen3-embedding", texts: 16, tokens: 8192, query: "Instruct: Given a question, retrieve the code or text that answers it\nQuery: "},
		},
		"openai": {
			{model: "text-embedding-3-small", dim: 1536, cuts: true, texts: 256, bytes: 600 << 10, tokens: 8191},
			{model: "text-embedding-3-large", dim: 3072, cuts: true, texts: 256, bytes: 600 << 10, tokens: 8191},
			{model: "text-embedding-ada-002", dim: 1536, texts: 256, bytes: 600 << 10, tokens: 8191},
			{model: "nomic-embed-text", dim: 768, texts: 32, tokens: 2048, document: prefixD, query: prefixQ, otherServer: true},
		},
		"openrouter": {
			{model: "openai/text-embedding-3-small", dim: 1536, cuts: true, texts: 128, bytes: 600 << 10, tokens: 8191},
			{model: "openai/text-embedding-3-large", dim: 3072, cuts: true, texts: 128, bytes: 600 << 10, tokens: 8191},
		},
		"gemini": {
			{model: "gemini-embedding-001", dim: 3072, cuts: true, texts: 100, bytes: 512 << 10, tokens: 2048},
			{model: "text-embedding-004", dim: 768, texts: 100, bytes: 512 << 10, tokens: 2048, note: "shut down by Google; gemini-embedding-001 took its place"},
		},
		"voyage": {
			{model: "voyage-code-3", dim: 1024, cuts: true, texts: 256, bytes: 240 << 10, tokens: 32000},
			{model: "voyage-3.5", dim: 1024, cuts: true, texts: 256, bytes: 600 << 10, tokens: 32000},
			{model: "voyage-3.5-lite", dim: 1024, cuts: true, texts: 256, bytes: 600 << 10, tokens: 32000},
			{model: "voyage-3-large", dim: 1024, cuts: true, texts: 256, bytes: 240 << 10, tokens: 32000},
		},
	}
}

// kinds are the ways to talk to a provider, with where it is found and what it is
// asked for if the user does not say.
type kindOf struct{ url, model string }

func kinds() map[string]kindOf {
	return map[string]kindOf{
		"ollama":     {"http://127.0.0.1:11434", "nomic-embed-text"},
		"openai":     {"https://api.openai.com/v1", "text-embedding-3-small"},
		"openrouter": {"https://openrouter.ai/api/v1", "openai/text-embedding-3-small"},
		"gemini":     {"https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-001"},
		"voyage":     {"https://api.voyageai.com/v1", "voyage-code-3"},
	}
}

// capabilityOf returns what is known of a model, with the defaults filled in.
func capabilityOf(kind, model string) capability {
	var c capability
	bare, _, _ := strings.Cut(model, ":")
	for _, known := range capabilities()[kind] {
		// LM Studio names a model text-embedding-nomic-embed-text-v1.5.
		if known.model == model || known.model == bare || strings.HasPrefix(bare, "text-embedding-"+known.model) {
			c = known
			break
		}
	}
	if c.texts == 0 {
		c.texts = 32
	}
	if c.bytes == 0 {
		c.bytes = 256 << 10
	}
	if c.tokens == 0 {
		c.tokens = 512
	}
	return c
}

// An KnownModel is a model that a kind of provider is known to have.
type KnownModel struct {
	Kind  string
	Model string
	Dim   int    // 0 if it differs
	Note  string // "" if there is nothing to say
}

// KnownModels returns the models that a kind of provider has at its usual address, in
// the order of the capability table.
func KnownModels(kind string) []KnownModel {
	var out []KnownModel
	for _, c := range capabilities()[kind] {
		if c.otherServer {
			continue
		}
		out = append(out, KnownModel{Kind: kind, Model: c.model, Dim: c.dim, Note: c.note})
	}
	return out
}

// DefaultURL returns where a kind of provider is found, "" if the kind is not
// known.
func DefaultURL(kind string) string { return kinds()[kind].url }

// DefaultModel returns the model of a kind of provider that is asked if the user
// does not choose one.
func DefaultModel(kind string) string { return kinds()[kind].model }
