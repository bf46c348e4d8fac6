package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func component(name string, needs ...string) Component {
	return Component{Name: name, Args: []string{"/bin/true"}, Needs: needs}
}

func TestOrder(t *testing.T) {
	got, err := Plan{Components: []Component{component("c", "b"), component("a"), component("b", "a")}}.Order()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestOrderRefuses(t *testing.T) {
	for name, plan := range map[string][]Component{
		"a cycle":        {component("a", "b"), component("b", "a")},
		"a missing need": {component("a", "b")},
		"the same twice": {component("a"), component("a")},
		"no name":        {component("")},
		"no program":     {{Name: "a"}},
	} {
		if order, err := (Plan{Components: plan}).Order(); err == nil {
			t.Errorf("%s: order %v, want an error", name, order)
		}
	}
}

func TestBackoffGrowsToALimitAndResetsAfterAStableRun(t *testing.T) {
	wait := time.Duration(0)
	var seen []time.Duration
	for range 9 {
		wait = nextBackoff(wait, time.Second)
		seen = append(seen, wait)
	}
	if seen[0] != minBackoff || seen[1] != 2*minBackoff || seen[8] != maxBackoff {
		t.Errorf("backoffs %v, want them to double from %s up to %s", seen, minBackoff, maxBackoff)
	}
	if got := nextBackoff(maxBackoff, stableAfter); got != minBackoff {
		t.Errorf("backoff after a stable run is %s, want %s", got, minBackoff)
	}
}

func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	log, err := openLog(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	line := strings.Repeat("x", 39) + "\n"
	for range 10 {
		if _, err := log.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{path, path + ".1"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 100 || info.Size()%40 != 0 {
			t.Errorf("%s has %d bytes, want whole lines within 100", filepath.Base(file), info.Size())
		}
	}
}
