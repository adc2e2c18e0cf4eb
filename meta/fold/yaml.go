package fold

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What may reach the YAML library. It is fast on what people write and
// quadratic on several things nobody writes (64 KB of brackets take it 17 s,
// 16 KB of blank lines 1 s), so that all of these are counted first.
const (
	maxHard     = 16 << 10 // bytes
	maxOpen     = 256      // opening brackets, in sum
	maxDashes   = 16       // list and key marks that begin one line
	maxRefs     = 128      // anchors, aliases and tags, in sum
	maxBlankRun = 16       // blank lines in a row
	maxIndent   = 128      // columns
	maxWeight   = maxHard  // scalars in a value, its aliases written out
)

// readByLibrary reads the entries of s that readHead left to the library and checks
// that the library sees the same keys.
func readByLibrary(s string, entries []entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = quarantinef(0, "the YAML cannot be read: %v", p)
		}
	}()
	var text strings.Builder
	var lines []int // line number in the file of each line of text
	var hard []*entry
	for i := range entries {
		e := &entries[i]
		if e.simple {
			continue
		}
		hard = append(hard, e)
		raw := lf(s[e.start:e.end])
		if err := checkHard(raw, e); err != nil {
			return err
		}
		text.WriteString(raw)
		if !strings.HasSuffix(raw, "\n") {
			text.WriteByte('\n')
		}
		for n := range strings.Count(raw, "\n") + 1 {
			lines = append(lines, e.line+n)
		}
		if strings.HasSuffix(raw, "\n") {
			lines = lines[:len(lines)-1]
		}
		if text.Len() > maxHard {
			return quarantinef(e.line, "more than %d bytes of nested or multi-line YAML", maxHard)
		}
	}
	file, err := parser.ParseBytes([]byte(text.String()), 0)
	if err != nil {
		line, reason := yamlError(err)
		if line >= 1 && line <= len(lines) {
			line = lines[line-1]
		}
		return quarantinef(line, "%s", reason)
	}
	return takeNodes(file, hard)
}

// checkHard counts in raw, the text of e, what the library is slow with.
func checkHard(raw string, e *entry) error {
	after := strings.TrimLeft(raw[e.colon-e.start:], " \t")
	block := strings.HasPrefix(after, "|") || strings.HasPrefix(after, ">")
	open, refs, blank, line := 0, 0, 0, e.line
	for text := range strings.SplitSeq(raw, "\n") {
		trimmed := strings.TrimLeft(text, " \t")
		if trimmed == "" {
			if blank++; blank > maxBlankRun {
				return quarantinef(line, "more than %d blank lines inside a value", maxBlankRun)
			}
			line++
			continue
		}
		blank = 0
		if !block {
			if len(text)-len(trimmed) > maxIndent {
				return quarantinef(line, "indented by more than %d columns", maxIndent)
			}
			dashes := 0
			for t := trimmed; len(t) > 1 && (t[0] == '-' || t[0] == '?' || t[0] == ':') && (t[1] == ' ' || t[1] == '\t'); dashes++ {
				t = strings.TrimLeft(t[1:], " \t")
			}
			open += strings.Count(text, "[") + strings.Count(text, "{")
			refs += strings.Count(text, "&") + strings.Count(text, "*") + strings.Count(text, "!")
			switch {
			case dashes > maxDashes:
				return quarantinef(line, "lists nest too deep")
			case open > maxOpen:
				return quarantinef(line, "more than %d brackets in one value", maxOpen)
			case refs > maxRefs:
				return quarantinef(line, "more than %d anchors, aliases and tags", maxRefs)
			}
		}
		line++
	}
	return nil
}

// yamlError returns the line and the bare reason of an error of the library,
// which otherwise shows a picture of the source.
func yamlError(err error) (line int, reason string) {
	reason, _, _ = strings.Cut(err.Error(), "\n")
	var at interface{ GetToken() *token.Token }
	if errors.As(err, &at) {
		if t := at.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	if i := strings.Index(reason, "] "); i >= 0 && strings.HasPrefix(reason, "[") {
		if line == 0 {
			_, _ = fmt.Sscanf(reason, "[%d:", &line)
		}
		reason = reason[i+2:]
	}
	return line, reason
}

// takeNodes gives each hard entry the value the library read for it.
func takeNodes(file *ast.File, hard []*entry) error {
	var pairs []*ast.MappingValueNode
	var nodes int
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil:
		case *ast.MappingNode:
			pairs = append(pairs, body.Values...)
			nodes++
		case *ast.MappingValueNode:
			pairs = append(pairs, body)
			nodes++
		default:
			nodes = -1
		}
	}
	if nodes != 1 || len(pairs) != len(hard) {
		return quarantinef(hard[0].line, "the YAML can be read in two ways")
	}
	anchors := map[string]value{}
	for i, pair := range pairs {
		e := hard[i]
		if k := pair.Key.GetToken(); k == nil || k.Value != e.key {
			return quarantinef(e.line, "the YAML of %.40q can be read in two ways", e.key)
		}
		v, err := nodeValue(pair.Value, anchors, 0)
		if err != nil {
			return quarantinef(e.line, "%s in %.40q", err, e.key)
		}
		e.value = v
	}
	return nil
}

var (
	errDeep  = errors.New("values nest too deep")
	errAlias = errors.New("an alias without an anchor before it")
	errEmpty = errors.New("a value that cannot be read")
	errBomb  = errors.New("aliases that grow out of measure")
)

// nodeValue turns a node into a value. Nothing is expanded: an alias costs what
// a reference to its scalar or flat list costs.
func nodeValue(n ast.Node, anchors map[string]value, depth int) (value, error) {
	if depth > 4*maxFlow {
		return value{}, errDeep
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return value{}, nil
	case *ast.StringNode:
		tok := n.GetToken()
		plain := tok != nil && tok.Type != token.DoubleQuoteType && tok.Type != token.SingleQuoteType
		return scalarValue(n.Value, plain), nil
	case *ast.LiteralNode:
		return scalarValue(n.Value.Value, false), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return scalarValue(n.GetToken().Value, true), nil
	case *ast.TagNode:
		return nodeValue(n.Value, anchors, depth+1)
	case *ast.AnchorNode:
		v, err := nodeValue(n.Value, anchors, depth+1)
		if err == nil && n.Name != nil {
			anchors[n.Name.GetToken().Value] = v
		}
		return v, err
	case *ast.AliasNode:
		v, ok := anchors[n.Value.GetToken().Value]
		if !ok {
			return value{}, errAlias
		}
		return v, nil
	case *ast.SequenceNode:
		return sequenceValue(n, anchors, depth)
	case *ast.MappingNode:
		pairs := make([]ast.Node, len(n.Values))
		for i, pair := range n.Values {
			pairs[i] = pair.Value
		}
		return mapValue(pairs, anchors, depth)
	case *ast.MappingValueNode:
		return mapValue([]ast.Node{n.Value}, anchors, depth)
	}
	return value{}, errEmpty
}

func scalarValue(text string, plain bool) value {
	return value{shape: shapeScalar, scalar: scalar{text, plain}, weight: 1}
}

func mapValue(nodes []ast.Node, anchors map[string]value, depth int) (value, error) {
	m := value{shape: shapeOther}
	for _, n := range nodes {
		v, err := nodeValue(n, anchors, depth+1)
		if err != nil {
			return value{}, err
		}
		if m.weight += v.weight + 1; m.weight > maxWeight {
			return value{}, errBomb
		}
	}
	return m, nil
}

func sequenceValue(n *ast.SequenceNode, anchors map[string]value, depth int) (value, error) {
	list := value{shape: shapeList}
	for _, item := range n.Values {
		v, err := nodeValue(item, anchors, depth+1)
		if err != nil {
			return value{}, err
		}
		if list.weight += v.weight + 1; list.weight > maxWeight {
			return value{}, errBomb
		}
		switch v.shape {
		case shapeScalar:
			list.items = append(list.items, v.scalar)
		case shapeNull: // an empty item says nothing
		default:
			list.shape = shapeOther
		}
	}
	return list, nil
}
