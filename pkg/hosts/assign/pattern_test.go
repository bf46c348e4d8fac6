package assign

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "anything", true},
		{"*", "", false},
		{"*", "x", true},
		{"Dell*", "DELL Inc.", true},
		{"dell", "Dell Inc.", false},
		{"*Gold*62??R*", "Intel(R) Xeon(R) Gold 6248R CPU", true},
		{"?", "ü", true},
		{"Ü*", "über", true},
		{"??", "ü", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-b-b-c-", false},
		{"**", "x", true},
		{"x?", "x", false},
		{"[a-z]+", "abc", false},
		{"[a-z]+", "[A-Z]+", true},
	} {
		if got := matches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("matches(%q, %q) = %t", tc.pattern, tc.text, got)
		}
	}
}

// FuzzMatches compares matches with an equivalent regular expression.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{{"a*b?c", "aXXbYc"}, {"*", ""}, {"*a*a*a*b", "aaaaaaaaaaaaaaaa"}, {"?ü", "aÜ"}, {"", ""}, {"\\E.", "\\e."}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) || pattern == "" || text == "" {
			return
		}
		lower := func(s string) string { return strings.Map(fold, s) }
		expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(lower(pattern)))
		want := regexp.MustCompile(`(?s)\A` + expression + `\z`).MatchString(lower(text))
		if got := matches(pattern, text); got != want {
			t.Errorf("matches(%q, %q) = %t, the regular expression %s says %t", pattern, text, got, expression, want)
		}
	})
}

// BenchmarkMatchesWorst measures a pattern with many useless tries.
func BenchmarkMatchesWorst(b *testing.B) {
	pattern, text := strings.Repeat("*a", 100)+"b", strings.Repeat("a", 256)
	for b.Loop() {
		matches(pattern, text)
	}
}
