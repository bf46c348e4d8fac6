package nodemeta

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Annotation is the annotation of a Node with the Metadata that BPA has set on it, as JSON.
const Annotation = "bpa.akraino.org/applied-metadata"

// Metadata are the labels, annotations and taints of one Node.
type Metadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []Taint           `json:"taints,omitempty"`
}

// Taint has the fields of a core/v1 Taint. A Node has at most one Taint of each key and effect.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
	// TimeAdded is an RFC 3339 time, which the API server keeps for NoExecute; empty in what is requested.
	TimeAdded string `json:"timeAdded,omitempty"`
}

// same reports whether two taints have the same key and effect.
func (t Taint) same(o Taint) bool { return t.Key == o.Key && t.Effect == o.Effect }

// equals reports whether two taints say the same.
func (t Taint) equals(o Taint) bool { return t.same(o) && t.Value == o.Value }

// IsEmpty reports whether nothing is requested.
func (m Metadata) IsEmpty() bool {
	return len(m.Labels) == 0 && len(m.Annotations) == 0 && len(m.Taints) == 0
}

// encode returns the value of Annotation. Equal metadata have equal values, whatever the order of their taints.
func (m Metadata) encode() string {
	taints := make([]Taint, len(m.Taints))
	for i, t := range m.Taints {
		taints[i] = Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
	}
	slices.SortFunc(taints, func(a, b Taint) int { return strings.Compare(a.Key+" "+a.Effect, b.Key+" "+b.Effect) })
	m.Taints = taints
	value, _ := json.Marshal(m) // strings can always be encoded
	return string(value)
}

// Differs is what Applied returns for a Node that has lost a part of what BPA has set on it.
const Differs = "differs"

// Digest identifies the metadata: 16 hexadecimal digits, or an empty text if nothing is requested.
func (m Metadata) Digest() string {
	if m.IsEmpty() {
		return ""
	}
	return digest(m.encode())
}

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// Applied returns the Digest of what BPA has set on a Node with these metadata, and Differs if the Node does not have
// all of it any more. The text is empty if BPA has set nothing.
func Applied(node Metadata) string {
	value, set := node.Annotations[Annotation]
	if !set {
		return ""
	}
	var m Metadata
	if json.Unmarshal([]byte(value), &m) != nil || !node.has(m) {
		return Differs
	}
	return digest(value)
}

// has reports whether the Node has all of the metadata.
func (m Metadata) has(part Metadata) bool {
	return includes(m.Labels, part.Labels) && includes(m.Annotations, part.Annotations) &&
		!slices.ContainsFunc(part.Taints, func(t Taint) bool { return !slices.ContainsFunc(m.Taints, t.equals) })
}

func includes(all, part map[string]string) bool {
	for key, value := range part {
		if have, ok := all[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// Merge returns the metadata of both. For the same label, annotation or taint, the value of over counts.
func Merge(under, over Metadata) Metadata {
	merged := Metadata{Labels: merge(under.Labels, over.Labels), Annotations: merge(under.Annotations, over.Annotations)}
	for _, t := range under.Taints {
		if !slices.ContainsFunc(over.Taints, t.same) {
			merged.Taints = append(merged.Taints, t)
		}
	}
	merged.Taints = append(merged.Taints, over.Taints...)
	return merged
}

func merge(under, over map[string]string) map[string]string {
	if len(under)+len(over) == 0 {
		return nil
	}
	merged := maps.Clone(under)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, over)
	return merged
}
