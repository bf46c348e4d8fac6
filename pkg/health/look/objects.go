package look

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/akraino-icn/bpa/pkg/health"
)

// node has the fields of a Node that are read. A whole Node is a hundred times larger.
type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// lease has the fields of a Lease that are read. The time stays text, because it is only compared.
type lease struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		RenewTime string `json:"renewTime"`
	} `json:"spec"`
}

// mostText limits a text that another cluster wrote.
const mostText = 120

// reduce returns what is needed of a node.
func (n node) reduce() health.Node {
	reduced := health.Node{
		Version:       clean(strings.TrimPrefix(n.Status.NodeInfo.KubeletVersion, "v"), 40),
		Unschedulable: n.Spec.Unschedulable,
	}
	for _, c := range n.Status.Conditions {
		if c.Type != "Ready" {
			continue
		}
		if reduced.Ready = c.Status == "True"; !reduced.Ready {
			reduced.Reason = clean(strings.TrimPrefix(c.Reason+": "+c.Message, ": "), mostText)
		}
	}
	return reduced
}

// clean makes one line without control characters of a text.
func clean(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("...")], "") + "..."
	}
	return strings.TrimRight(text, ": ")
}

var errNoList = errors.New("its answer is not a list of objects")

// eachItem decodes the items of a list one after the other, so that only one is in memory.
func eachItem[T any](r io.Reader, use func(T)) error {
	d := json.NewDecoder(r)
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return unreadable(err)
		}
		if key != "items" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return unreadable(err)
			}
			continue
		}
		if err := items(d, use); err != nil {
			return err
		}
	}
	return expect(d, json.Delim('}'))
}

func items[T any](d *json.Decoder, use func(T)) error {
	switch token, err := d.Token(); {
	case err != nil:
		return unreadable(err)
	case token == nil: // null: an empty list
		return nil
	case token != json.Delim('['):
		return errNoList
	}
	for d.More() {
		var item T
		if err := d.Decode(&item); err != nil {
			return unreadable(err)
		}
		use(item)
	}
	return expect(d, json.Delim(']'))
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return unreadable(err)
	}
	if token != want {
		return errNoList
	}
	return nil
}

// unreadable tells errors of the JSON from errors of the network.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w (%w)", errNoList, err)
	}
	return err
}
