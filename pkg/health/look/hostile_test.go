package look

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/healthtest"
)

// TestHostileLists: users of a namespace can edit the Secret with the credentials, so the server can be
// theirs. No answer makes a look keep or allocate much. Without the limits, each list needs far more.
func TestHostileLists(t *testing.T) {
	const most = 2 << 20
	long := strings.Repeat("a ", 10<<20)
	for name, test := range map[string]struct{ list, silent string }{
		"one long node":     {`{"items":[{"metadata":{"name":"w-1"},"status":{"nodeInfo":{"kubeletVersion":"` + long + `"}}}]}`, errTooLong.Error()},
		"a long field":      {`{"metadata":"` + long + `","items":[]}`, errTooLong.Error()},
		"a long field name": {`{"` + long + `":1}`, errTooLong.Error()},
		"spaces":            {`{"items":[` + strings.Repeat(" ", 16<<20) + `]}`, errTooLong.Error()},
		"many conditions":   {`{"items":[{"metadata":{"name":"w-1"},"status":{"conditions":[{}` + strings.Repeat(",{}", 40<<10) + `]}}]}`, ""},
		"an endless list":   {`{"items":[` + strings.Repeat(`{"metadata":{"annotations":{"a":"`+long[:64<<10]+`"}}},`, 200) + `{}]}`, errTooLong.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			var silent string
			used := allocated(func() {
				err := eachItem(strings.NewReader(test.list), mostBytes, func(n node) { n.reduce() })
				if err != nil {
					silent = explain(err)
				}
			})
			if silent != test.silent || used > most {
				t.Errorf("%q after %d KiB of memory, want %q", silent, used>>10, test.silent)
			}
		})
	}
}

// allocated returns how many bytes f has allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestOnlyExpectedNodesAreKept: a server with many other nodes, long texts and long times.
func TestOnlyExpectedNodesAreKept(t *testing.T) {
	f := newFixture(t)
	nodes, leases := &bytes.Buffer{}, &bytes.Buffer{}
	for i := range 20000 {
		fmt.Fprintf(nodes, `{"metadata":{"name":"x-%d"}},`, i)
		fmt.Fprintf(leases, `{"metadata":{"name":"x-%d"}},`, i)
	}
	long := strings.Repeat("b", 100<<10)
	f.server.Answer(healthtest.Nodes, 0, []byte(`{"items":[`+nodes.String()+`{"metadata":{"name":"w-1"},"status":{"nodeInfo":{"kubeletVersion":"`+long+`"}}}]}`))
	f.server.Answer(healthtest.Leases, 0, []byte(`{"items":[`+leases.String()+`{"metadata":{"name":"w-1"},"spec":{"renewTime":"`+long+`"}}]}`))
	want := health.Observation{
		Nodes:      map[string]health.Node{"w-1": {Version: long[:37] + "..."}},
		Leases:     map[string]string{"w-1": long[:mostTime]},
		LeaseTimes: map[string]time.Duration{"w-1": 0},
		NotAfter:   expires,
	}
	if diff := cmp.Diff(want, f.client(t).Look(t.Context(), expected)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestALargeCluster: an answer about 1,000 real nodes stays within the limits.
func TestALargeCluster(t *testing.T) {
	f := newFixture(t)
	var nodes []corev1.Node
	var names []string
	for i := range 1000 {
		n := healthtest.Node(fmt.Sprintf("w-%d", i), "")
		nodes, names = append(nodes, n), append(names, n.Name)
	}
	f.server.SetNodes(nodes, time.Unix(0, 0))
	if o := f.client(t).Look(t.Context(), names); o.Silent != "" || len(o.Nodes) != 1000 || len(o.Leases) != 1000 {
		t.Errorf("%q, %d nodes, %d leases", o.Silent, len(o.Nodes), len(o.Leases))
	}
}

// TestLongHeader: the header of an answer is limited too.
func TestLongHeader(t *testing.T) {
	f := newFixture(t)
	f.server.SetHeader("X-Long", strings.Repeat("a", 1<<20))
	if o := f.client(t).Look(t.Context(), expected); !strings.HasSuffix(o.Silent, "no usable answer") {
		t.Errorf("%+v", o)
	}
}
