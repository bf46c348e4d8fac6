package ansible

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// shortestLiteral is the number of characters from which a text is hidden wherever it stands. A shorter one is a part
// of too many other words.
const shortestLiteral = 6

// Literals hides texts that are known to be secret, wherever they stand: as they are, line by line, with the quotes of
// JSON, YAML, Python, a shell or a URL, and in base64, also as a part of another text. nil hides nothing.
type Literals struct {
	replacer *strings.Replacer
}

// NewLiterals returns nil if none of the texts is long enough to be hidden.
func NewLiterals(texts []string) *Literals {
	var all []string
	for _, text := range texts {
		parts := append(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), text)
		for _, part := range parts {
			part = strings.TrimSpace(part)
			if utf8.RuneCountInString(part) >= shortestLiteral && (part == strings.TrimSpace(text) || !strings.HasPrefix(part, "-----")) { // the first and last line of PEM is no secret
				all = append(all, forms(part)...)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }) // the first one that fits is replaced
	var pairs []string
	for _, form := range slices.Compact(all) {
		pairs = append(pairs, form, hidden)
	}
	return &Literals{strings.NewReplacer(pairs...)}
}

// Redact replaces the texts by "[hidden]".
func (l *Literals) Redact(s string) string {
	if l == nil {
		return s
	}
	return l.replacer.Replace(s)
}

// RedactEvent is like Redact for a line of JSON, which stays valid.
func (l *Literals) RedactEvent(line []byte) []byte {
	if l == nil {
		return line
	}
	plain := l.Redact(string(line))
	if plain == string(line) {
		return line
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return []byte(plain)
	}
	text, err := json.Marshal(l.walk(value))
	if err != nil {
		return []byte(plain)
	}
	return text
}

func (l *Literals) walk(value any) any {
	switch value := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(value))
		for key, item := range value {
			all[l.Redact(key)] = l.walk(item)
		}
		return all
	case []any:
		for i := range value {
			value[i] = l.walk(value[i])
		}
	case string:
		return l.Redact(value)
	case json.Number:
		if text := l.Redact(value.String()); text != value.String() {
			return text
		}
	}
	return value
}

// Writer returns a writer that redacts line by line before it writes to out. The caller calls Flush at the end.
func (l *Literals) Writer(out io.Writer) *LiteralWriter { return &LiteralWriter{literals: l, out: out} }

// LiteralWriter redacts what is written to it. It is not safe for several goroutines at a time.
type LiteralWriter struct {
	literals *Literals
	out      io.Writer
	part     []byte
	passes   bool // the line is longer than maxLine, and nobody shows it
}

func (w *LiteralWriter) Write(p []byte) (int, error) {
	if w.literals == nil {
		return w.out.Write(p)
	}
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if w.passes {
			if _, err := w.out.Write(p[:len(p)-len(rest)]); err != nil {
				return 0, err
			}
			w.passes = !ended
			p = rest
			continue
		}
		w.part = append(w.part, line...)
		if !ended {
			if len(w.part) > maxLine {
				w.passes = true
				if err := w.write(w.part, ""); err != nil {
					return 0, err
				}
			}
			return n, nil
		}
		if err := w.write(w.part, "\n"); err != nil {
			return 0, err
		}
		p = rest
	}
	return n, nil
}

func (w *LiteralWriter) write(line []byte, end string) error {
	_, err := w.out.Write(append(w.literals.RedactEvent(line), end...))
	w.part = w.part[:0]
	return err
}

// Flush writes a last line that has no line end.
func (w *LiteralWriter) Flush() error {
	if len(w.part) == 0 {
		return nil
	}
	return w.write(w.part, "")
}

// forms returns the text in all forms in which it is hidden.
func forms(text string) []string {
	inJSON := jsonInner(text)
	all := []string{
		text, inJSON, jsonInner(inJSON), jsonInner(jsonInner(inJSON)), asciiOf(inJSON), jsonInner(asciiOf(inJSON)), inHTML.Replace(inJSON), jsonInner(inHTML.Replace(inJSON)),
		strings.ReplaceAll(text, "'", "''"), strings.ReplaceAll(text, "'", `'\''`), strings.ReplaceAll(inJSON, "'", `\'`), strings.ReplaceAll(strings.ReplaceAll(inJSON, `\"`, `"`), "'", `\'`),
		strings.ReplaceAll(inJSON, `\"`, `"`), url.QueryEscape(text), url.PathEscape(text), url.UserPassword("", text).String()[1:],
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			all = append(all, inBase64(encoding, text, shift))
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < shortestLiteral })
}

// jsonInner returns a text as it is between the quotes of JSON.
func jsonInner(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil { // it is a string
		return text
	}
	quoted := strings.TrimSpace(b.String())
	return quoted[1 : len(quoted)-1]
}

// inHTML writes JSON as Go does by default.
var inHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// asciiOf writes JSON as Python does by default.
func asciiOf(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// inBase64 returns those characters in base64 that depend only on the text, if it begins shift bytes after a group of
// three bytes of a longer text.
func inBase64(encoding *base64.Encoding, text string, shift int) string {
	encoded := encoding.EncodeToString(append(make([]byte, shift), text...))
	first := (shift*8 + 5) / 6
	last := (shift + len(text)) * 8 / 6
	return encoded[min(first, last):last]
}
