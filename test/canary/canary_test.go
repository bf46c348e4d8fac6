package canary

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const text = "canary-of-\"this\"-test"

func zipped(plain string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(plain))
	_ = w.Close()
	return b.String()
}

func b64(plain string) string { return base64.StdEncoding.EncodeToString([]byte(plain)) }

func TestIn(t *testing.T) {
	for form, test := range map[string]struct {
		text string
		want bool
	}{
		"as it is":                   {"x" + text + "y", true},
		"in JSON":                    {`{"a": "canary-of-\"this\"-test"}`, true},
		"in base64":                  {"password: " + b64(text), true},
		"in base64 of a login":       {b64("robot:" + text), true},
		"in base64 twice":            {b64(b64("a" + text)), true},
		"in base64 after characters": {"auth" + b64(text), true},
		"in base64 for URLs":         {base64.RawURLEncoding.EncodeToString([]byte("??>>" + text)), true},
		"in gzip":                    {zipped(text), true},
		"in base64 of gzip":          {b64(zipped("much text\n" + text)), true},
		"in gzip of base64":          {zipped(b64(text)), true},
		"a part of it":               {text[:len(text)-1], false},
		"something else":             {b64(zipped("much text")), false},
		"nothing":                    {"", false},
	} {
		if got := In([]byte(test.text), text); got != test.want {
			t.Errorf("%s: found %t, want %t", form, got, test.want)
		}
	}
}

func TestFind(t *testing.T) {
	list := map[string]any{"kind": "List", "items": []any{
		map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "a", "namespace": "n"}, "data": map[string]any{"password": b64(text)}},
		map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "b", "namespace": "n"}, "data": map[string]any{"x": []any{"1", zipped(text)}, text: "2"}},
		map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "c", "namespace": "n"}, "data": map[string]any{"x": "nothing"}},
	}}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Find(raw, text)
	want := []string{"ConfigMap n/b.data key " + text, "Secret n/a.data.password"} // gzip as it is cannot be in JSON
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("found (-want +got), %v:\n%s", err, diff)
	}
}

func TestForms(t *testing.T) {
	for before := range 4 {
		for after := range 4 {
			encoded := b64("12345678"[:before] + text + "12345678"[:after])
			if !slices.ContainsFunc(Forms(text), func(form string) bool { return strings.Contains(encoded, form) }) {
				t.Errorf("no form of %q is in %s, with %d characters before it and %d after it", Forms(text), encoded, before, after)
			}
		}
	}
	if slices.ContainsFunc(Forms(text), func(form string) bool { return strings.Contains(b64("a canary of this test"), form) }) {
		t.Error("another text has a form of it")
	}
}

func TestOf(t *testing.T) {
	for value, want := range map[string]string{
		"-----BEGIN PRIVATE KEY-----\nline-1\nline-2\n-----END PRIVATE KEY-----\n":                                          "line-1",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\npub\nb\nprivate\nend\n-----END OPENSSH PRIVATE KEY-----": "private",
		"AGE-SECRET-KEY-1ABC\n":                      "AGE-SECRET-KEY-1ABC",
		"age1abcdefghijkl":                           "",
		"-----BEGIN CERTIFICATE-----\nMII\n":         "",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 a comment": "",
		"https://192.0.2.1:6443":                     "",
		"root":                                       "",
		"several words of a text":                    "",
	} {
		if got := Of([]byte(value)); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
