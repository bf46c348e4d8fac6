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

// deepest limits how many times a text is decoded, largest the size of a decoded text in bytes, and shortest that of a value
// that can be searched.
const (
	deepest  = 4
	largest  = 64 << 20
	shortest = 12
)

// encoded matches what can be base64. A shorter text cannot have a canary.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}={0,2}`)

// In reports whether a text contains one of the canaries in some form.
func In(text []byte, canaries ...string) bool { return in(text, canaries, 0) }

func in(text []byte, canaries []string, depth int) bool {
	for _, canary := range canaries {
		if bytes.Contains(text, []byte(canary)) || bytes.Contains(text, []byte(quoted(canary))) {
			return true
		}
	}
	if depth == deepest {
		return false
	}
	if plain := unzip(text); plain != nil && in(plain, canaries, depth+1) {
		return true
	}
	for _, word := range encoded.FindAll(text, -1) {
		for _, plain := range decode(string(word)) {
			if in(plain, canaries, depth+1) {
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

// Forms returns the texts of which one is in a file that contains the canary as it is, in JSON, or in base64 at any place.
// It is for searches with programs such as grep, and for large files.
func Forms(canary string) []string {
	forms := []string{canary, quoted(canary)}
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + canary))
		from, to := (before*8+5)/6, len(text) // characters that depend on what is before and after
		if (before+len(canary))%3 != 0 {
			to--
		}
		forms = append(forms, text[from:to])
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// Of returns a text of a Secret's value that nothing else has: a line of a private key, the value of a token or of a
// password; empty: the value has no such text, like a certificate or an address.
func Of(value []byte) string {
	text := strings.TrimSpace(string(value))
	if _, body, isKey := strings.Cut(text, "PRIVATE KEY-----"); isKey {
		lines := strings.Fields(body)
		if len(lines) > 4 && strings.HasPrefix(lines[0], "b3BlbnNzaC1rZXkt") {
			return lines[3] // OpenSSH's: the public key is before it
		}
		return lines[0]
	}
	public := strings.HasPrefix(text, "age1") || strings.HasPrefix(text, "ssh-") || strings.HasPrefix(text, "-----BEGIN") || strings.Contains(text, "://")
	if len(text) < shortest || public || strings.ContainsAny(text, " \n") {
		return ""
	}
	return text
}

// Find returns the fields of an object, sorted, that contain one of the canaries. The object is JSON, such as a list of
// kubectl. An item of a list is named by its kind, namespace and name.
func Find(object []byte, canaries ...string) ([]string, error) {
	var value any
	if err := json.Unmarshal(object, &value); err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	var found []string
	walk("", value, func(path, text string) {
		if In([]byte(text), canaries...) {
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
