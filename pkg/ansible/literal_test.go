package ansible

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestLiteralsHideEveryForm(t *testing.T) {
	for name, secret := range map[string]string{
		"letters":          "correcthorse",
		"quotes":           `it's "so" <se&cret>`,
		"a backslash":      `C:\new\"table`,
		"other characters": "pässwörd-日本-😀",
		"several lines":    "-----BEGIN KEY-----\nfirstline\nsecondline\n-----END KEY-----",
		"a number":         "123456789",
		"percent":          "a%b+c d/e?f#g@h:i",
	} {
		inJSON, _ := json.Marshal(secret)
		twice, _ := json.Marshal(string(inJSON))
		l := NewLiterals([]string{secret})
		for form, text := range map[string]string{
			"as it is":                   secret,
			"JSON":                       string(inJSON),
			"JSON in JSON":               string(twice),
			"Python's JSON":              strings.ReplaceAll(strconv.QuoteToASCII(secret), `\U0001f600`, `\ud83d\ude00`),
			"YAML":                       "'" + strings.ReplaceAll(secret, "'", "''") + "'",
			"a shell":                    "'" + strings.ReplaceAll(secret, "'", `'\''`) + "'",
			"a query":                    "https://x/?password=" + url.QueryEscape(secret),
			"a URL":                      (&url.URL{Scheme: "https", Host: "x", User: url.UserPassword("robot", secret)}).String(),
			"base64":                     base64.StdEncoding.EncodeToString([]byte(secret)),
			"base64 of a login":          base64.StdEncoding.EncodeToString([]byte("robot:" + secret)),
			"base64 of another login":    base64.StdEncoding.EncodeToString([]byte("robot2:" + secret + "\n")),
			"base64 of one more login":   base64.StdEncoding.EncodeToString([]byte("robot22:" + secret)),
			"base64 for URLs of a login": base64.RawURLEncoding.EncodeToString([]byte("robot22:" + secret + "more")),
		} {
			got := l.Redact("before " + text + " after")
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, hidden) {
				t.Errorf("%s in %s: %q", name, form, got)
			}
			for _, line := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' }) {
				if strings.Contains(got, line) && !strings.HasPrefix(line, "-----") {
					t.Errorf("%s in %s is shown: %q", name, form, got)
				}
			}
			// What is left of the base64 form must not give the secret away: at most the bytes at its ends.
			for part := range strings.FieldsSeq(strings.ReplaceAll(got, hidden, " ")) {
				if plain, err := base64.StdEncoding.DecodeString(strings.Repeat("A", (4-len(part)%4)%4) + part); err == nil && strings.Contains(string(plain), secret[:min(4, len(secret))]) {
					t.Errorf("%s in %s: %q shows %q", name, form, got, plain)
				}
			}
		}
	}
}

func TestLiteralsOverLines(t *testing.T) {
	l := NewLiterals([]string{"-----BEGIN KEY-----\nfirstline\n  secondline\n-----END KEY-----\n"})
	for _, line := range []string{"x firstline y", "secondline", "      secondline"} {
		if got := l.Redact(line); strings.Contains(got, "line") {
			t.Errorf("%q is shown as %q", line, got)
		}
	}
	if got := l.Redact("-----BEGIN KEY-----"); got != "-----BEGIN KEY-----" {
		t.Errorf("a line of PEM without a secret is shown as %q", got)
	}
}

func TestShortLiteralsStay(t *testing.T) {
	if l := NewLiterals([]string{"", "true", "short"}); l != nil || l.Redact("short and true") != "short and true" {
		t.Error("a text that is a part of many words is hidden")
	}
	if got := NewLiterals([]string{"secret-1", "secret-1-and-more"}).Redact("secret-1-and-more secret-1"); got != hidden+" "+hidden {
		t.Errorf("of two texts that fit, the shorter one was hidden: %q", got)
	}
}

// An event stays an event, and no part of it is lost.
func TestLiteralsInEvents(t *testing.T) {
	secret := `a"b\c` + "\n" + `"},"hosts":{"x":{"msg":"`
	l := NewLiterals([]string{secret, "12345678"})
	line, err := json.Marshal(map[string]any{
		"_event": Failed, "task": map[string]any{"name": "log in with " + secret},
		"hosts": map[string]any{"m1": map[string]any{"msg": "wrong: " + secret, "pin": 12345678, "port": 5000, "list": []string{secret, "kept"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := l.RedactEvent(line)
	e, err := Parse(got)
	if err != nil || e.Host != "m1" || e.Task != "log in with "+hidden || !strings.Contains(e.Message, "wrong: "+hidden) {
		t.Errorf("event %+v (%v) of %s", e, err, got)
	}
	for _, part := range []string{`b\\c`, "12345678"} {
		if bytes.Contains(got, []byte(part)) {
			t.Errorf("%s shows %s", got, part)
		}
	}
	if !bytes.Contains(got, []byte("5000")) || !bytes.Contains(got, []byte("kept")) {
		t.Errorf("%s has lost something", got)
	}
	if same := []byte(`{"_event": "x"}`); &l.RedactEvent(same)[0] != &same[0] {
		t.Error("a line without a secret was changed")
	}
}

func TestLiteralWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewLiterals([]string{"correcthorse"}).Writer(&out)
	for _, part := range []string{"one correct", "horse\ntwo", "\n", "\n{\"a\": \"correcthorse\"}\nlast corr", "ecthorse"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "one [hidden]\ntwo\n\n{\"a\":\"[hidden]\"}\nlast [hidden]"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}
