package artifacts

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MaxShort bounds, in bytes, what Short says: it has to fit into a condition.
const MaxShort = 600

// Short says in one line what is missing and what would bring it; depot is the depot's URL. It is at most MaxShort bytes long: as many
// names as fit, and how many more there are.
func (m Missing) Short(depot string) string {
	if m.Nothing() {
		return fmt.Sprintf("the depot %s has everything that is needed: %s", depot, count(m.Of, "artifact"))
	}
	begin := fmt.Sprintf("the depot %s lacks %d of %s: ", depot, m.Size(), count(m.Of, "artifact"))
	end := fmt.Sprintf(". The task's log lists all; bring them with: kubectl bpa bundle import FILE --depot %s", depot)
	names := m.names()
	room := MaxShort - len(begin) - len(end)
	var text strings.Builder
	for i, n := range names {
		rest := fmt.Sprintf(" and %d more", len(names)-i)
		if text.Len()+len(", ")+len(n)+len(rest) > room {
			text.WriteString(rest)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(n)
	}
	return cut(begin+strings.TrimSpace(text.String())+end, MaxShort)
}

// Full says all of it, with the commands, for a log.
func (m Missing) Full(depot string) string {
	if m.Nothing() {
		return m.Short(depot) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The depot %s lacks %d of %s:\n", depot, m.Size(), count(m.Of, "artifact"))
	for _, i := range m.Images {
		m.line(&b, "image", i.Ref, i.Wanted())
	}
	for _, f := range m.Files {
		m.line(&b, "file", f.Path, f.identity())
	}
	for _, p := range m.Packages {
		m.line(&b, "package", p.String(), p.System)
	}
	wanted, _ := json.Marshal(m.List) // cannot fail: strings and numbers
	systems := ""
	for _, system := range m.Systems() {
		systems += " --system " + system
	}
	fmt.Fprintf(&b, `
Where there is Internet, pack them; carry missing.tar here; then import it and try again:
  cat >missing.json <<'END'
%s
END
  kubectl bpa bundle create --list missing.json%s --output missing.tar
  kubectl bpa bundle import missing.tar --depot %s
`, wanted, systems, depot)
	return b.String()
}

// Notes are what a person should know although nothing is missing by it.
func (m Missing) Notes() []string {
	var notes []string
	if len(m.Elsewhere) > 0 {
		notes = append(notes, fmt.Sprintf("it has no OS packages for %s, so nodes use their own sources", strings.Join(m.Elsewhere, ", ")))
	}
	if len(m.Own) > 0 {
		notes = append(notes, fmt.Sprintf("nodes fetch %s from their own sources", count(len(m.Own), "OS package")))
	}
	if len(m.Unresolved) > 0 {
		notes = append(notes, fmt.Sprintf("%s of OS packages must be on the nodes already", count(len(m.Unresolved), "dependency")))
	}
	return notes
}

func (m Missing) line(b *strings.Builder, kind, name, identity string) {
	note := m.Why[name]
	if note == "" {
		note = identity
	}
	if note != "" {
		note = " (" + note + ")"
	}
	fmt.Fprintf(b, "  %-7s %s%s\n", kind, name, note)
}

// names are as short as one can still tell them apart by.
func (m Missing) names() []string {
	var names []string
	for _, i := range m.Images {
		n := i.Ref
		if place, err := i.Place(); err == nil {
			n = place.String()
		}
		names = append(names, n)
	}
	for _, f := range m.Files {
		parts := strings.Split(f.Path, "/")
		names = append(names, parts[len(parts)-1])
	}
	for _, p := range m.Packages {
		names = append(names, p.String())
	}
	return names
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cut keeps ASCII texts, which ours are, to a length.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return s[:max-3] + "..."
}
