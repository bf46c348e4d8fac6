package ansible

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestJournalReadsWell(t *testing.T) {
	for _, name := range []string{"green", "failed", "censored", "gone"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			meter := NewMeter(11)
			journal := NewJournal(&out, meter)
			for _, e := range recorded(t, name) {
				meter.See(e)
				journal.See(e)
			}
			golden := "testdata/" + name + ".log"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if strings.Contains(out.String(), "0123456789abcdef") {
				t.Error("the log shows a secret")
			}
		})
	}
}

func TestJournalReportsLongTasks(t *testing.T) {
	var out bytes.Buffer
	meter := NewMeter(2)
	j := NewJournal(&out, meter)
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	see := func(e Event) { meter.See(e); j.See(e) }
	see(Event{Kind: PlayStart, Play: "Nodes", At: start})
	see(Event{Kind: TaskStart, Task: "kubeadm | Init", TaskID: "1", At: start})
	for s := range 100 {
		j.Tick(start.Add(time.Duration(s) * time.Second))
	}
	see(Event{Kind: OK, Changed: true, Attempts: 2, Task: "kubeadm | Init", TaskID: "1", Host: "a", At: start.Add(100 * time.Second)})
	see(Event{Kind: PlayStart, Play: "Own pace", At: start.Add(101 * time.Second)})
	see(Event{Kind: HostStart, Task: "Pull", TaskID: "2", At: start.Add(101 * time.Second)})
	see(Event{Kind: HostStart, Task: "Pull", TaskID: "2", At: start.Add(102 * time.Second)})
	for s := 102; s < 120; s++ {
		j.Tick(start.Add(time.Duration(s) * time.Second))
	}
	see(Event{Kind: OK, Task: "Pull", TaskID: "2", Host: "b", At: start.Add(120 * time.Second)})
	see(Event{Kind: OK, Task: "Pull", TaskID: "2", Host: "a", At: start.Add(3721 * time.Second)})
	want := `
PLAY [Nodes]
 50%    0:15  kubeadm | Init: still running after 0:15
 50%    0:30  kubeadm | Init: still running after 0:30
 50%    1:00  kubeadm | Init: still running after 1:00
 50%    1:40  kubeadm | Init: 1 changed, 2 attempts, took 1:40

PLAY [Own pace]
 97%    1:56  Pull: still running after 0:15
 97%    2:00  Pull [b]: 1 ok, took 0:19
 97% 1:02:01  Pull [a]: 1 ok, took 1:00:20
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestJournalShortensManyFailures(t *testing.T) {
	var out bytes.Buffer
	j := NewJournal(&out, NewMeter(1))
	j.See(Event{Kind: TaskStart, Task: "t", TaskID: "1"})
	for range 40 {
		j.See(Event{Kind: Failed, TaskID: "1", Host: "h", Message: "no"})
	}
	j.See(Event{Kind: PlayStart})
	if got := out.String(); strings.Count(got, "h: no") != 5 || !strings.Contains(got, "40 failed") || strings.Count(got, "on more hosts") != 1 {
		t.Errorf("log:\n%s", got)
	}
}
