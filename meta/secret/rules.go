package secret

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

const genericRule = "generic-api-key"

// A ruleSet is every rule, and the words by which to find where to try it.
type ruleSet struct {
	all    []*rule
	words  *wordSet
	byWord [][]int // word → rules
}

// A rule is one rule of gitleaks with a detector that knows no other, or ours. Its find
// is safe for concurrent use: the detector only reads. It is made when first
// needed: it holds 64 KB, and of some two hundred rules few meet their keyword
// where they could match.
type rule struct {
	id      string
	context int // bytes after the keyword that it must see
	// prefilter, if not nil, says cheaply whether the rule can match at the
	// keyword b[at:end] at all.
	prefilter func(b []byte, at, end int) bool
	det       func() *detect.Detector
	own       func(b []byte) []int // instead of det: see find
}

// rules loads the rules at the first call. It is a variable because the library
// reads its configuration into a global of viper, which nothing else in the
// program uses: it must happen once.
var rules = sync.OnceValue(loadRules)

func loadRules() *ruleSet {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		panic("secret: the rules inside the program do not load: " + err.Error())
	}
	rs := &ruleSet{}
	wordAt := map[string]int{}
	var words []string
	begins := func(keywords []string) { // the last rule is tried where one of them stands
		for _, k := range keywords {
			k = strings.ToLower(k)
			if _, ok := wordAt[k]; !ok {
				wordAt[k] = len(words)
				words = append(words, k)
				rs.byWord = append(rs.byWord, nil)
			}
			rs.byWord[wordAt[k]] = append(rs.byWord[wordAt[k]], len(rs.all)-1)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Config.Rules)) {
		r := d.Config.Rules[id]
		if r.Regex == nil || len(r.Keywords) == 0 || r.Path != nil {
			continue // goes by the name of the file: see IsSecretFile
		}
		rs.add(d.Config, id, r)
		begins(r.Keywords)
	}
	rs.all = append(rs.all, &rule{id: ownRule, context: after, prefilter: isOwn, own: ownTokens})
	begins([]string{ownPrefix})
	rs.words = newWordSet(words)
	return rs
}

func (rs *ruleSet) add(all config.Config, id string, r config.Rule) {
	one := config.Config{
		Rules:        map[string]config.Rule{id: r},
		Keywords:     map[string]struct{}{},
		OrderedRules: []string{id},
		Allowlists:   all.Allowlists,
	}
	for _, k := range r.Keywords {
		one.Keywords[k] = struct{}{}
	}
	added := &rule{id: id, context: after, det: sync.OnceValue(func() *detect.Detector {
		det := detect.NewDetector(one)
		det.IgnoreGitleaksAllow = true // a comment in a file is no reason to send its secrets
		return det
	})}
	if isAssignment(r.Regex.String(), r.Keywords) {
		added.prefilter = assigned(likelyValue(atLeast(r.Entropy)))
	}
	switch id {
	case genericRule:
		added.prefilter, added.context = assigned(likelyValue(atLeast(r.Entropy))), 256
	case "sumologic-access-id":
		added.prefilter = assigned(startsWith("su", 12)) // of the keyword "sumo", as in consumo
	case "databricks-api-token":
		added.prefilter = hexFollows(32) // "dapi"
	case "vault-service-token":
		added.prefilter = followedBy(24) // of the keyword "s.", in every other line of code
	case "jwt":
		added.prefilter = followedBy(17) // "ey"
	case "twilio-api-key":
		added.prefilter = followedBy(32) // "sk"
	case "lob-api-key", "lob-pub-api-key":
		added.prefilter = followedBy(28) // "test_", "live_", "_pub"
	case "private-key", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml":
		added.context = afterLong
	}
	rs.all = append(rs.all, added)
}

// isAssignment reports whether a rule is of the usual form: a name with the
// keyword in it, an operator, a value.
func isAssignment(pattern string, keywords []string) bool {
	rest, ok := strings.CutPrefix(pattern, `(?i)[\w.-]{0,50}?(?:`)
	if !ok {
		return false
	}
	name, value, ok := strings.Cut(rest, `)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|`)
	if !ok || strings.Contains(value, `|\b(`) {
		return false
	}
	name = strings.ToLower(name)
	return !slices.ContainsFunc(keywords, func(k string) bool { return !strings.Contains(name, strings.ToLower(k)) })
}

// atLeast returns how many different bytes a value must have to pass a limit of
// entropy, in bits per byte.
func atLeast(entropy float64) int { return int(math.Exp2(entropy)) }

// followedBy returns a test for rules whose value goes on behind the keyword
// without a break for at least n bytes, and is no mere repetition.
func followedBy(n int) func(b []byte, at, end int) bool {
	return func(b []byte, _, end int) bool {
		if end+n > len(b) {
			return false
		}
		for _, c := range b[end : end+n] {
			if !isWord(c) && c != '-' {
				return false
			}
		}
		return distinct(b[end:end+n]) >= 7
	}
}

// distinct returns how many different bytes b has.
func distinct(b []byte) int {
	var seen [256]bool
	n := 0
	for _, c := range b {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n
}

// find returns the lines, from 1, on which the rule matches in b.
func (r *rule) find(b []byte) []int {
	if r.own != nil {
		return r.own(b)
	}
	var lines []int
	for _, f := range r.det().DetectString(string(b)) {
		if isFalsePositive(r.id, f.Secret, f.Line) {
			continue
		}
		lines = append(lines, f.StartLine+1)
	}
	return lines
}

// hexFollows returns a test for rules whose keyword goes on with n hexadecimal
// digits.
func hexFollows(n int) func(b []byte, at, end int) bool {
	return func(b []byte, _, end int) bool {
		return end+n <= len(b) && isHex(string(b[end:end+n]))
	}
}

// assigned returns a test of whether what value takes is assigned to the name
// that goes on behind the keyword: what the usual rule asks for, without its
// regular expression. That is `[ \t\w.-]{0,20}[\s'"]{0,3}` + an operator +
// "[\x60'\"\s=]{0,5}" + the value.
func assigned(value func(b []byte) bool) func(b []byte, at, end int) bool {
	return func(b []byte, _, end int) bool {
		i := end
		for n := 0; i < len(b) && n < 20 && (isWord(b[i]) || b[i] == ' ' || b[i] == '\t' || b[i] == '.' || b[i] == '-'); n++ {
			i++
		}
		// Any of what the name ran over may have belonged to what follows it.
		for limit := min(len(b), i+12); i < limit; i++ {
			switch b[i] {
			case '=', '>', ':', '|', ',':
				if value(valueIn(b[i+1 : min(len(b), i+200)])) {
					return true
				}
			case ' ', '\t', '\n', '\r', '\'', '"', '?', '`':
			default:
				return false
			}
		}
		return false
	}
}

// valueIn returns what follows the rest of an operator, blanks and quotes.
func valueIn(b []byte) []byte {
	i := 0
	for i < len(b) && i < 8 && strings.IndexByte("`'\" \t\n\r=:>|", b[i]) >= 0 {
		i++
	}
	return b[i:]
}

// likelyValue takes a value of at least 10 bytes, so many of them different,
// with something in it that is no letter.
func likelyValue(different int) func(b []byte) bool {
	return func(b []byte) bool {
		n, other := 0, false
		for ; n < len(b) && (isWord(b[n]) || strings.IndexByte(".=-+/", b[n]) >= 0); n++ {
			if c := b[n]; c >= '0' && c <= '9' || c == '=' || c == '+' || c == '/' {
				other = true
			}
		}
		return n >= 10 && other && distinct(b[:n]) >= different
	}
}

// startsWith takes a value of prefix and at least n letters or digits, in any case.
func startsWith(prefix string, n int) func(b []byte) bool {
	return func(b []byte) bool {
		if len(b) < len(prefix)+n || !strings.EqualFold(string(b[:len(prefix)]), prefix) {
			return false
		}
		for _, c := range b[len(prefix) : len(prefix)+n] {
			if !isWord(c) {
				return false
			}
		}
		return true
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
