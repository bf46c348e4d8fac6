package protocol

import (
	"encoding/hex"
	"strings"
)

// These repositories are reserved for the depot. Clients can read them like other repositories, but
// can write them only through /v1.
const (
	ReservedPrefix = "bpa-depot/"
	Artifacts      = ReservedPrefix + "artifacts"
	Staging        = ReservedPrefix + "uploads"
)

// Tag is the only tag of an artifact's repository.
const Tag = "current"

// Repository returns the repository that holds the artifact's manifest. Different artifacts have
// different repositories, see Escape.
func (r Ref) Repository() string {
	return strings.Join([]string{Artifacts, Escape(r.Owner), Escape(r.Cluster), string(r.Kind), Escape(r.Name)}, "/")
}

// ParseRepository parses a name that Repository returns. It returns false for all other names.
func ParseRepository(repository string) (Ref, bool) {
	rest, ok := strings.CutPrefix(repository, Artifacts+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 4 {
		return Ref{}, false
	}
	var r Ref
	var okOwner, okCluster, okName bool
	r.Owner, okOwner = Unescape(parts[0])
	r.Cluster, okCluster = Unescape(parts[1])
	r.Kind = Kind(parts[2])
	r.Name, okName = Unescape(parts[3])
	return r, okOwner && okCluster && okName && r.Validate() == nil
}

// Escape replaces a byte that is not legal in a component of a repository name by the constant
// escaped and two hexadecimal digits. That constant is legal only between letters and digits. So if
// a component would begin with it, Escape writes lead before it.
const (
	escaped = "__"
	lead    = "x"
)

// Escape turns any string of at least one byte into a legal component of a repository name. It
// keeps lower-case letters and digits, and a dot or dash between two of them; it replaces every
// other byte by __hh. Different strings have different results.
func Escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		// An "x" at the start that is followed by an escape must be escaped too. Otherwise,
		// Unescape would take this "x" for lead.
		isLead := i == 0 && s[0] == lead[0] && len(s) > 1 && !stays(s, 1)
		switch {
		case stays(s, i) && !isLead:
			b.WriteByte(s[i])
		case b.Len() == 0:
			b.WriteString(lead + escaped + hex.EncodeToString([]byte{s[i]}))
		default:
			b.WriteString(escaped + hex.EncodeToString([]byte{s[i]}))
		}
	}
	return b.String()
}

func stays(s string, i int) bool {
	if plain(s[i]) {
		return true
	}
	return (s[i] == '.' || s[i] == '-') && i > 0 && i+1 < len(s) && plain(s[i-1]) && plain(s[i+1])
}

func plain(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// Unescape reverses Escape. It returns false for components that Escape never returns.
func Unescape(component string) (string, bool) {
	rest := component
	if strings.HasPrefix(rest, lead+escaped) {
		rest = rest[len(lead):]
	}
	var b strings.Builder
	for rest != "" {
		after, isEscape := strings.CutPrefix(rest, escaped)
		if !isEscape {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		if len(after) < 2 {
			return "", false
		}
		c, err := hex.DecodeString(after[:2])
		if err != nil {
			return "", false
		}
		b.Write(c)
		rest = after[2:]
	}
	return b.String(), b.Len() > 0 && Escape(b.String()) == component
}
