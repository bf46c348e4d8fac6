package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files in testdata")

// created is the creation time of every Provisioning in the scripts.
var created = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// scene is a Provisioning at a moment after its creation.
type scene struct {
	at time.Time
	p  *v1alpha1.Provisioning
}

// script reads the scenes of a script: YAML documents, each a Provisioning and the time "at".
func script(t *testing.T, file string) []scene {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return scenes(t, file, data)
}

func scenes(t *testing.T, file string, data []byte) []scene {
	t.Helper()
	var all []scene
	for i, doc := range splitScenes(t, data) {
		var s struct {
			At metav1.Duration `json:"at"`
			v1alpha1.Provisioning
		}
		if err := yaml.UnmarshalStrict(doc, &s); err != nil {
			t.Fatalf("%s, scene %d: %v", file, i+1, err)
		}
		p := &s.Provisioning
		p.Name, p.Namespace, p.CreationTimestamp = "edge-1", "site-a", metav1.NewTime(created)
		all = append(all, scene{at: created.Add(s.At.Duration), p: p})
	}
	return all
}

// splitScenes splits the documents. The anchors of a document can be used in all later documents.
func splitScenes(t *testing.T, data []byte) [][]byte {
	t.Helper()
	var list []string
	for _, doc := range strings.Split(string(data), "\n---\n") {
		item := strings.ReplaceAll(strings.TrimSpace(doc), "\n", "\n  ")
		list = append(list, "-\n  "+item)
	}
	one, err := yamlutil.ToJSON([]byte(strings.Join(list, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	var docs []any
	if err := yaml.Unmarshal(one, &docs); err != nil {
		t.Fatal(err)
	}
	split := make([][]byte, len(docs))
	for i, doc := range docs {
		if split[i], err = yaml.Marshal(doc); err != nil {
			t.Fatal(err)
		}
	}
	return split
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *updateGolden {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestWatchReportsProgress(t *testing.T) {
	files, err := filepath.Glob("testdata/watch/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", reportAll(t, script(t, file)))
		})
	}
}

// reportAll returns the output of a watch that starts with the first scene.
func reportAll(t *testing.T, scenes []scene) string {
	t.Helper()
	var out bytes.Buffer
	screen, progress := newDisplay(&out), newReporter()
	for i, s := range scenes {
		screen.show(progress.next(s.p, s.at))
		end := verdictOf(s.p)
		if end == underway {
			continue
		}
		if i != len(scenes)-1 {
			t.Fatalf("scene %d ends the watch, but others follow", i+1)
		}
		commands := &session{IOStreams: genericiooptions.IOStreams{Out: &out}, now: func() time.Time { return s.at }}
		code := finish(commands.conclude(&site{namespace: "site-a", flags: " --context=lab"}, s.p), genericiooptions.IOStreams{ErrOut: &out})
		fmt.Fprintf(&out, "exit code %d\n", code)
	}
	return out.String()
}

func TestStatusPage(t *testing.T) {
	files, err := filepath.Glob("testdata/watch/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			for i, s := range script(t, file) {
				page := (&site{namespace: "site-a"}).page(s.p, "", s.at)
				fmt.Fprintf(&out, "=== scene %d\n%s", i+1, page)
				if f := s.p.Status.Failure; f != nil {
					shownOnce(t, page, f.Message)
					shownOnce(t, page, f.Hint)
				}
			}
			golden(t, filepath.Join("testdata/status", name+".txt"), out.String())
		})
	}
}

// shownOnce checks that a page has a text of the failure in exactly one place.
func shownOnce(t *testing.T, page, text string) {
	t.Helper()
	if n := strings.Count(page, clean(text)); text != "" && n != 1 {
		t.Errorf("the page has %q %d times, want once:\n%s", text, n, page)
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		noRun: "--:--", 0: "00:00", 192 * time.Second: "03:12", time.Hour: "1:00:00", 26*time.Hour + 61*time.Second: "26:01:01",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestAClockThatIsBehindGivesNoNegativeTime(t *testing.T) {
	start := metav1.NewTime(created)
	p := &v1alpha1.Provisioning{Status: v1alpha1.ProvisioningStatus{Run: &v1alpha1.RunStatus{StartTime: &start}}}
	if got := elapsed(p, created.Add(-time.Minute)); got != 0 {
		t.Errorf("elapsed = %v, want 0", got)
	}
}

func TestCleanKeepsNoControlCharacters(t *testing.T) {
	const evil = "\x1b]0;title\x07\x1b[2Jfirst\r\n\tsecond\u200b\u202e third\x00"
	if got, want := clean(evil), "first second third"; got != want {
		t.Errorf("clean = %q, want %q", got, want)
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, codeDone},
		{errors.New("x"), codeFailed},
		{usageError(errors.New("x")), codeUsage},
		{fmt.Errorf("wrapped: %w", exitf(codeTimeout, "x")), codeTimeout},
	} {
		if got := finish(tt.err, genericiooptions.NewTestIOStreamsDiscard()); got != tt.want {
			t.Errorf("exit code of %v = %d, want %d", tt.err, got, tt.want)
		}
	}
}
