package hostfile

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// yamlTree reads the only document of YAML; nil: the text is empty.
func yamlTree(text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var document, next yaml.Node
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, &syntaxError{line: lineOf(err)}
	}
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, &syntaxError{line: next.Line}
	}
	return document.Content[0], nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// lineOf returns the line that an error of the YAML parser names; 0: none.
func lineOf(err error) int {
	found := yamlLine.FindStringSubmatch(err.Error())
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1]) // digits; 0 if there are too many
	return line
}

// unusual returns the first node with an anchor, an alias or a tag of its own; nil: there is none. Such a node is often a
// password that begins with one of these characters. Without aliases, no text becomes larger when it is read.
func unusual(node *yaml.Node) *yaml.Node {
	tagged := node.Style&yaml.TaggedStyle != 0
	if node.Anchor != "" || node.Kind == yaml.AliasNode || tagged {
		return node
	}
	for _, child := range node.Content {
		if found := unusual(child); found != nil {
			return found
		}
	}
	return nil
}
