package health

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the results into testdata")

var start = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// TestStories plays the looks in testdata. A look is a line such as "15s w-1=a w-2=b!KubeletNotReady":
// the time since the look before, and for each node the renewTime of its lease, and after "!" the reason
// why it is not Ready. "a@2" also gives the UID of the node. "run w-1" means that a run works on w-1 from now on. The report follows each line that changed it.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d stories: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func play(t *testing.T, text string) string {
	var s State
	var out []string
	now, expected, last := start, []string{"w-1"}, Report{API: APIUnknown}
	var changing []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		words := strings.Fields(line)
		if strings.HasPrefix(line, "    ") {
			continue // a result
		}
		out = append(out, line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if words[0] == "expect" {
			expected = words[1:]
			continue
		}
		if words[0] == "run" { // works on these nodes now, and on no other ones
			s.Changed(slices.DeleteFunc(changing, func(name string) bool { return slices.Contains(words, name) }))
			if changing = words[1:]; !s.Report().Equal(last) {
				last = s.Report()
				out = append(out, describe(last, now)...)
			}
			continue
		}
		later, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(later)
		s.Add(look(words[1:]), expected, changing, now)
		if report := s.Report(); !report.Equal(last) {
			last = report
			out = append(out, describe(report, now)...)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

func look(words []string) Observation {
	switch words[0] {
	case "silent":
		return Observation{Silent: strings.Join(words[1:], " ")}
	case "denied":
		return Observation{Denied: strings.Join(words[1:], " ")}
	}
	o := Observation{Nodes: map[string]Node{}, Leases: map[string]string{}}
	for _, word := range words {
		name, rest, _ := strings.Cut(word, "=")
		switch name {
		case "none":
			continue
		case "no-leases":
			o.Leases = nil
			continue
		case "cert":
			days, _ := time.ParseDuration(rest)
			o.NotAfter = start.Add(days)
			continue
		}
		renewed, reason, bad := strings.Cut(rest, "!")
		renewed, uid, _ := strings.Cut(renewed, "@")
		o.Nodes[name] = Node{UID: uid, Ready: !bad, Reason: reason, Version: "1.35.4"}
		if renewed != "" && o.Leases != nil {
			o.Leases[name] = renewed
		}
	}
	return o
}

func describe(r Report, now time.Time) []string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return "since " + t.Format("15:04:05")
	}
	line := func(format string, args ...any) string {
		return "    " + strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	}
	out := []string{line("%s API %s %s %s", now.Format("15:04:05"), r.API, at(r.Since), r.Text)}
	if !r.CertificateExpires.IsZero() {
		out = append(out, line("certificate expires after %s", r.CertificateExpires.Sub(start)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Nodes)) {
		n := r.Nodes[name]
		out = append(out, line("%s %s %s %s %s", name, n.State, at(n.Since), n.Version, n.Text))
	}
	return out
}
