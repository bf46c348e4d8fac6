//go:build bench || e2e

package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/test/bench/results"
)

// TestBenchAssign prints the processor time and the peak memory of an assignment of 1,000 nodes
// among 1,000, 3,000 and 10,000 hosts. It prints the same for the explanation of a request that
// cannot be met. It needs no cluster. The figures have no limits: the test fails only if an answer
// is wrong.
func TestBenchAssign(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	fmt.Printf("\n%-58s %10s %12s\n", "assignment of 1,000 nodes, GOMAXPROCS=1", "processor", "heap")
	for _, n := range []int{1000, 3000, 10000} {
		all := fleet(n)
		for _, c := range []struct {
			name    string
			request contract.Request
			fits    bool
		}{
			{"slots, all different", slots(1000), true},
			{"500 slots, 5 sets, 3 of them spread", sets(), true},
			{"impossible: 10 too many with SR-IOV", impossible(all), false},
			{"impossible: a rack has too few", narrow(all, false), false},
			{"the same with a soft spread", narrow(all, true), true},
		} {
			took, peak, err := measure(c.request, all)
			var nofit *assign.NoFit
			if err != nil && !errors.As(err, &nofit) || n != 1000 && c.fits != (err == nil) {
				t.Errorf("%d hosts, %s: %v", n, c.name, err)
			}
			fmt.Printf("%6d hosts, %-45s %7.1f ms %8.1f MiB\n", n, c.name, float64(took.Microseconds())/1000, float64(peak)/(1<<20))
			if n == 10000 {
				results.Record(t, results.Figure{Table: "Assignment of 1,000 nodes to 10,000 hosts, processor time", Name: c.name,
					Value: float64(took.Microseconds()) / 1000, Unit: "ms", Goal: 30})
			}
			if err != nil {
				fmt.Printf("      %d bytes: %.150s\n", len(err.Error()), err)
			}
		}
	}
	fmt.Printf("%-58s %7d ms %8d MiB\n\n", "goal at 10,000 hosts", 30, 64)
}

// measure returns the median processor time of five assignments, and the number of bytes that one
// more assignment allocates. The garbage collector is off during that assignment, so the heap
// cannot grow by more than these bytes.
func measure(request contract.Request, all []hosts.Host) (took time.Duration, peak uint64, err error) {
	var times []time.Duration
	for range 5 {
		start := processorTime()
		_, err = assign.Assign(request, all)
		times = append(times, processorTime()-start)
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = assign.Assign(request, all)
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	return times[len(times)/2], after.HeapAlloc - before.HeapAlloc, err
}

// processorTime returns the processor time that this process has used, including the garbage
// collector. Other processes do not affect it.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func fleet(n int) []hosts.Host {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var all []hosts.Host
	for i := range n {
		mac := fmt.Sprintf("02:00:00:00:%02x:%02x", i/256, i%256)
		all = append(all, hosts.Host{
			Name: fmt.Sprintf("host-%05d", i), UID: fmt.Sprint(i), MACs: []string{mac}, CPU: 1 + r.IntN(64), Memory: int64(1+r.IntN(256)) << 30,
			NICs:  []hosts.NIC{{MAC: mac, Boot: true, IPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i % 256)})}, Model: "0x8086 0x158b", Speed: 25}},
			Disks: []hosts.Disk{{Size: 960e9, Type: "NVME"}}, Architecture: "x86_64", CPUFlags: []string{"avx2", "avx512f"}, SRIOV: r.IntN(10) == 0,
			Labels: map[string]string{"rack": fmt.Sprintf("r%02d", r.IntN(40)), "row": fmt.Sprint(r.IntN(5))},
		})
	}
	return all
}

func slots(n int) contract.Request {
	r := rand.New(rand.NewPCG(2, 2))
	request := contract.Request{Spec: contract.Spec{Namespace: "site", Provisioning: "edge-1"}}
	for i := range n {
		s := contract.Slot{Name: fmt.Sprintf("worker-%d", i), Needs: contract.Needs{CPU: r.IntN(48), Memory: int64(r.IntN(192)) << 30}}
		switch i % 20 {
		case 0:
			s.Needs.SRIOV = true
		case 1:
			s.Needs.CPUFlags, s.Needs.Disks = []string{"avx512f"}, []contract.DiskNeed{{Count: 1, Size: 500e9, Type: "NVME"}}
		case 2:
			s.Needs.Labels = []contract.LabelTerm{{Key: "row", Operator: "In", Values: []string{"1", "2"}}}
		}
		request.Slots = append(request.Slots, s)
	}
	return request
}

func sets() contract.Request {
	request := slots(500)
	for i, spread := range []*contract.Spread{
		nil, {TopologyKey: "rack", MaxSkew: 1}, {TopologyKey: "rack", MaxSkew: 2}, {TopologyKey: "row", MaxSkew: 1, Soft: true}, nil,
	} {
		request.Sets = append(request.Sets, contract.Set{
			Name: fmt.Sprintf("set-%d", i), Active: 90, Standby: 10, Spread: spread, Needs: contract.Needs{CPU: 4 * i, Memory: int64(i) << 33},
		})
	}
	return request
}

func impossible(all []hosts.Host) contract.Request {
	n := 10
	for _, h := range all {
		if h.SRIOV && h.CPU >= 16 {
			n++
		}
	}
	request := slots(max(0, 1000-n))
	for i := range min(n, 1000) {
		request.Slots = append(request.Slots, contract.Slot{Name: fmt.Sprintf("sriov-%d", i), Needs: contract.Needs{SRIOV: true, CPU: 16}})
	}
	return request
}

// narrow returns a request for 500 slots, and for 500 nodes in sets that are spread over racks. It
// changes the labels of the given hosts, so that only three hosts remain in rack r01. Three hosts
// are too few for the spread, unless the spread is soft.
func narrow(all []hosts.Host, soft bool) contract.Request {
	request := slots(500)
	for i := range 2 {
		request.Sets = append(request.Sets, contract.Set{
			Name: fmt.Sprintf("set-%d", i), Active: 250, Spread: &contract.Spread{TopologyKey: "rack", MaxSkew: 1, Soft: soft},
			Needs: contract.Needs{Labels: []contract.LabelTerm{{Key: "rack", Operator: "NotIn", Values: []string{"r00"}}}},
		})
	}
	poor := 0
	for i := range all {
		if all[i].Labels["rack"] == "r01" {
			if poor++; poor > 3 {
				all[i].Labels = map[string]string{"rack": "r00"}
			}
		}
	}
	return request
}
