package look

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/nodemeta"
)

// node has the fields of a Node that are read. A whole Node is a hundred times larger.
type node struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Unschedulable bool `json:"unschedulable"`
		// Taints has room for as many as Conditions.
		Taints [mostConditions]nodemeta.Taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		// Conditions has room for more than any node has. The decoder skips what does not fit in, so that
		// many empty conditions need no memory.
		Conditions [mostConditions]struct {
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

// metadata are those of a Node. Labels and Annotations are read only if BPA has set some: usually it has not, and they
// are most of the text.
type metadata struct {
	Name, UID           string
	Labels, Annotations map[string]string
}

// UnmarshalJSON decodes the metadata of a Node.
func (m *metadata) UnmarshalJSON(raw []byte) error {
	var short struct {
		Name        string `json:"name"`
		UID         string `json:"uid"`
		Annotations struct {
			Applied string `json:"bpa.akraino.org/applied-metadata"` // nodemeta.Annotation
		} `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &short); err != nil {
		return err
	}
	if m.Name, m.UID = short.Name, short.UID; short.Annotations.Applied == "" {
		return nil
	}
	var set struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
	err := json.Unmarshal(raw, &set)
	m.Labels, m.Annotations = set.Labels, set.Annotations
	return err
}

// lease has the fields of a Lease that are read. The time stays text, because it is only compared.
type lease struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		RenewTime string `json:"renewTime"`
		Seconds   int32  `json:"leaseDurationSeconds"`
	} `json:"spec"`
}

// Limits of what another cluster wrote, in bytes: of a text, and of a renewTime, which has 27.
const (
	mostText       = 120
	mostTime       = 40
	mostConditions = 64
)

// reduce returns the renewTime.
func (l lease) reduce() string {
	return strings.Clone(l.Spec.RenewTime[:min(len(l.Spec.RenewTime), mostTime)])
}

// reduce returns what is needed of a node.
func (n node) reduce() health.Node {
	reduced := health.Node{
		UID:           clean(n.Metadata.UID, 40),
		Version:       clean(strings.TrimPrefix(n.Status.NodeInfo.KubeletVersion, "v"), 40),
		Unschedulable: n.Spec.Unschedulable,
		Applied:       nodemeta.Applied(nodemeta.Metadata{Labels: n.Metadata.Labels, Annotations: n.Metadata.Annotations, Taints: n.Spec.Taints[:]}),
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

// clean makes one line without control characters of a text. It cuts the text before it looks for
// words, because another cluster may have written a very long one, and never keeps that in memory.
func clean(text string, most int) string {
	text = text[:min(len(text), 4*most)]
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("...")], "") + "..."
	}
	return strings.Clone(strings.TrimRight(text, ": "))
}

var (
	errNoList  = errors.New("its answer is not a list of objects")
	errTooLong = errors.New("its answer is too long")
)

// decoder decodes an answer in parts, and limits how far it reads beyond the parts before. json.Decoder
// alone would read a value of any length into memory.
type decoder struct {
	*json.Decoder
	from       io.Reader
	read, most int64 // of the whole answer
}

func newDecoder(r io.Reader, most int64) *decoder {
	d := &decoder{from: r, most: most}
	d.Decoder = json.NewDecoder(d)
	return d
}

// Read reads at most mostItem beyond what is decoded.
func (d *decoder) Read(p []byte) (int, error) {
	left := min(d.most, d.InputOffset()+mostItem) - d.read
	if left <= 0 {
		return 0, errTooLong
	}
	n, err := d.from.Read(p[:min(int64(len(p)), left)])
	d.read += int64(n)
	return n, err
}

// eachItem decodes the items of a list one after the other, so that only one is in memory. The list may
// have most bytes.
func eachItem[T any](r io.Reader, most int64, use func(T)) error {
	d := newDecoder(r, most)
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

func items[T any](d *decoder, use func(T)) error {
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

func expect(d *decoder, want json.Delim) error {
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
