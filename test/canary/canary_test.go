package canary

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
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
