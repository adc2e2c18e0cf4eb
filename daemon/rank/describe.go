package rank

// A Description says what a feature is, to people who read the explanation of a score.
type Description struct {
	Channel string // the channel it comes from
	Text    string // what it measures, in at most 44 characters
}

// descriptions has those of all features.
var descriptions = map[Feature]Description{
	Words:        {"words", "BM25 over all fields"},
	Expanded:     {"words", "BM25 over all fields, with synonyms"},
	Body:         {"words", "BM25 of the text alone"},
	Coverage:     {"words", "share of the question that occurs"},
	Coverage2:    {"words", "its square"},
	Exact:        {"names", "whole identifiers and word pairs"},
	Name:         {"names", "BM25 of name and title"},
	Symbol:       {"names", "BM25 of the qualified name"},
	Path:         {"names", "BM25 of the path"},
	NameCoverage: {"names", "name × coverage"},
	NameShare:    {"names", "share of its name that is asked"},
	File:         {"file", "its file as a whole"},
	FileExact:    {"file", "whole identifiers in its file"},
	FileTop:      {"file", "the three best chunks of its file"},
	ChunkBest:    {"chunks", "its best chunk"},
	ChunkTop:     {"chunks", "its three best chunks"},
	ChunkName:    {"chunks", "the best name among its chunks"},
	ChunkExact:   {"chunks", "the best names among its chunks"},
	ChunkCover:   {"chunks", "the best coverage among its chunks"},
	Messages:     {"commits", "messages of commits that touched it"},
	Votes:        {"commits", "commits like the question that touched it"},
	Neighbour:    {"neighbours", "mean of the chunks before and after"},
	Window:       {"neighbours", "with what was said before and after"},
	Session:      {"neighbours", "the three best of its session"},
	Vector:       {"meaning", "cosine of the vectors"},
	Associated:   {"links", "tied to what was found"},
	Person:       {"cues", "said by whom the question names"},
	Time:         {"cues", "said, or telling, when the question asks"},
	Asks:         {"cues", "it asks rather than tells"},
	Linked:       {"links", "linked to one of the best"},
}

// fused is the name of the only term of a score made by rank fusion.
const fused = "rrf"

// DescribeTerm returns the description of the term with that name. A name that is no
// feature's is taken for a channel.
func DescribeTerm(name string) Description {
	if name == fused {
		return Description{"fusion", "its places in the rankings of all channels"}
	}
	for f, n := range featureNames {
		if n == name {
			if a, ok := descriptions[Feature(f)]; ok {
				return a
			}
		}
	}
	return Description{Channel: name}
}
