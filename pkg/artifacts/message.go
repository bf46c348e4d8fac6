package artifacts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxShort is the maximum length of the text of Short in bytes. The text is used as the message of
// a condition.
const MaxShort = 600

// Short describes in one line the missing artifacts and the command with which a user imports them.
// depot is the depot's URL. The text has at most MaxShort bytes: it names as many artifacts as fit,
// and gives the number of the others.
func (m Missing) Short(depot string) string {
	if m.Nothing() {
		return fmt.Sprintf("the depot %s has everything that is needed: %s", depot, count(m.Of, "artifact"))
	}
	begin := fmt.Sprintf("the depot %s lacks %d of %s: ", depot, m.Size(), count(m.Of, "artifact"))
	end := fmt.Sprintf(". The task's log lists all; import them with: kubectl bpa bundle import FILE --depot %s", depot)
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

// Full describes all missing artifacts in several lines, for a log, with the commands with which a
// user packs and imports them. depot is the depot's URL.
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
	wanted, _ := json.Marshal(m.List) // cannot fail: the list holds only strings and numbers
	systems := ""
	for _, system := range m.Systems() {
		systems += " --system " + system
	}
	fmt.Fprintf(&b, `
Pack them on a machine with an Internet connection, copy missing.tar to this site, import it, and try again:
  cat >missing.json <<'END'
%s
END
  kubectl bpa bundle create --list missing.json%s --output missing.tar
  kubectl bpa bundle import missing.tar --depot %s
`, wanted, systems, depot)
	return b.String()
}

// Notes returns facts about OS packages that the user should know, although no artifact is missing
// because of them. Each note is the end of a sentence about the depot.
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

// pathVersion is a part of a file's path that is only a version. Kubernetes' own programs have theirs
// there, and an upgrade needs them in several versions.
var pathVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// names returns short names of the missing artifacts: images without their registry, files without
// their folder, and with the version in their path if their name has none.
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
		n := parts[len(parts)-1]
		if i := slices.IndexFunc(parts, pathVersion.MatchString); i >= 0 && !strings.Contains(n, parts[i][1:]) {
			n += " " + parts[i]
		}
		names = append(names, n)
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

// cut shortens an ASCII string to at most max bytes.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return s[:max-3] + "..."
}
