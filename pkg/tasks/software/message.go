package software

import (
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible"
)

// mostMessage limits the message of one package or node in the record, in bytes: the record of many nodes
// is one ConfigMap.
const mostMessage = 600

// shorten returns the first line and the last bytes of a redacted text. The first line says what has failed, and
// the cause is at the end of its output.
func shorten(text string) string { return redacted(text, mostMessage) }

// redacted returns a text without secrets and control characters, of at most that many bytes: the first line, if
// it is short, and the end.
func redacted(text string, most int) string {
	var redact ansible.Lines
	var lines []string
	for line := range strings.Lines(text) {
		if line, show := redact.Redact(strings.TrimRight(line, "\r\n\t ")); show && line != "" {
			lines = append(lines, printable(line))
		}
	}
	all := strings.Join(lines, "\n")
	if len(all) <= most {
		return all
	}
	head := ""
	if first, _, ok := strings.Cut(all, "\n"); ok && len(first) < most/3 {
		head = first + "\n"
	}
	all = all[len(all)-most+len(head)+len("..."):]
	if _, rest, ok := strings.Cut(all, "\n"); ok && len(rest) > most/2 {
		all = rest
	}
	return head + "..." + strings.ToValidUTF8(all, "")
}

func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, line)
}
