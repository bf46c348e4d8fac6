package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxDepth limits how deep a file is nested.
const maxDepth = 30

// jsonTree reads JSON into the nodes of the YAML parser, which know their lines. JSON has its own reader because YAML
// refuses some of it, such as tabs and pairs of surrogates. line is that of the first byte.
func jsonTree(text []byte, line int) (*yaml.Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	t := &jsonReader{text: text, first: line, Decoder: d}
	root, err := t.value(0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("text after the end")
		}
	}
	if err != nil {
		return nil, &syntaxError{line: t.line()}
	}
	return root, nil
}

type jsonReader struct {
	*json.Decoder
	text  []byte
	first int
	seen  int64 // bytes whose lines were counted
	lines int
}

// line returns the line that the reader has reached.
func (t *jsonReader) line() int {
	now := t.InputOffset()
	t.lines += bytes.Count(t.text[t.seen:now], []byte("\n"))
	t.seen = now
	return t.first + t.lines
}

func (t *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	token, err := t.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: t.line(), Value: fmt.Sprint(token)}
	switch token := token.(type) {
	case nil:
		node.Tag, node.Value = "!!null", ""
	case bool:
		node.Tag = "!!bool"
	case json.Number:
		node.Tag = "!!float"
	case string:
		node.Tag = "!!str"
	case json.Delim:
		node.Kind, node.Value = yaml.MappingNode, ""
		if token == '[' {
			node.Kind = yaml.SequenceNode
		}
		for t.More() {
			child, err := t.value(depth + 1)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err = t.Token() // the closing bracket
	}
	return node, err
}

// syntaxError is a text that is not in its format. It has no text of the parser, which may contain a part of a password.
type syntaxError struct{ line int }

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: wrong syntax", e.line) }

// fromYAML makes JSON of a node. The node is from a tree without aliases.
func fromYAML(node *yaml.Node) ([]byte, error) {
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, errors.New("not a value")
	}
	return json.Marshal(value)
}
