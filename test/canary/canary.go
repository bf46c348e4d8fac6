// Package canary finds a text that was put into a Secret, in whatever form it has got elsewhere: in objects, logs and
// events, as it is, in base64 or in gzip, also in one another. Tests search everything for it.
//
// A search that finds nothing proves something only if the same search finds a text that was planted.
package canary

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// deepest limits how many times a text is decoded, and largest the size of a decoded text in bytes.
const (
	deepest = 4
	largest = 64 << 20
)

// encoded matches what can be base64. A shorter text cannot have a canary.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}={0,2}`)

// In reports whether a text contains the canary in some form.
func In(text []byte, canary string) bool { return in(text, canary, 0) }

func in(text []byte, canary string, depth int) bool {
	if bytes.Contains(text, []byte(canary)) || bytes.Contains(text, []byte(quoted(canary))) {
		return true
	}
	if depth == deepest {
		return false
	}
	if plain := unzip(text); plain != nil && in(plain, canary, depth+1) {
		return true
	}
	for _, word := range encoded.FindAll(text, -1) {
		for _, plain := range decode(string(word)) {
			if in(plain, canary, depth+1) {
				return true
			}
		}
	}
	return false
}

// decode returns what a word can mean in base64. Characters before the encoded text shift its groups, so each of the
// four beginnings is tried.
func decode(word string) (all [][]byte) {
	word = strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(word)
	for skip := range min(4, len(word)) {
		rest := word[skip:]
		if len(rest)%4 == 1 {
			rest = rest[:len(rest)-1]
		}
		if plain, err := base64.RawStdEncoding.DecodeString(rest); err == nil {
			all = append(all, plain)
		}
	}
	return all
}

func unzip(text []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(r, largest)) // the end of it can be missing
	return plain
}

// quoted returns a text as it is in JSON.
func quoted(text string) string {
	q, _ := json.Marshal(text) // a string can always be encoded
	return string(q[1 : len(q)-1])
}

// Find returns the fields of an object, sorted, that contain the canary. The object is JSON, such as a list of kubectl.
// An item of a list is named by its kind, namespace and name.
func Find(object []byte, canary string) ([]string, error) {
	var value any
	if err := json.Unmarshal(object, &value); err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	var found []string
	walk("", value, func(path, text string) {
		if In([]byte(text), canary) {
			found = append(found, path)
		}
	})
	slices.Sort(found)
	return found, nil
}

func walk(path string, value any, see func(path, text string)) {
	switch value := value.(type) {
	case map[string]any:
		if name := nameOf(value); name != "" {
			path = name
		}
		for key, item := range value {
			see(path+" key "+key, key)
			walk(path+"."+key, item, see)
		}
	case []any:
		for i, item := range value {
			walk(fmt.Sprintf("%s[%d]", path, i), item, see)
		}
	case string:
		see(path, value)
	}
}

// nameOf returns "Kind namespace/name" of an object of Kubernetes.
func nameOf(value map[string]any) string {
	meta, _ := value["metadata"].(map[string]any)
	kind, _ := value["kind"].(string)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	if kind == "" || name == "" {
		return ""
	}
	return kind + " " + namespace + "/" + name
}
