package software

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// world is a cluster with its Softwares, its depot and its record.
type world struct {
	*rand.Rand
	softwares []*v1alpha1.Software
	list      *protocol.PackageList
	nodes     []contract.Node
	record    contract.SoftwareRecord
	dead      map[string]bool // by node; for the API server and for SSH
	silent    map[string]bool // by node; for SSH only
	asked     string
	now       time.Time
	quiet     bool // nobody changes packages by hand
}

// TestRandomWorlds checks that runs come to an end, whatever fails: after a run that has processed all
// changes, none of them is due again. All nodes then have what they should have, or a row that says why not.
// The order of objects does not matter.
func TestRandomWorlds(t *testing.T) {
	for seed := range uint64(1500) {
		r := &world{Rand: rand.New(rand.NewPCG(seed, 16)), now: now, list: &protocol.PackageList{}}
		r.build()
		for step := range 6 {
			r.edit(step)
			if problem := r.settle(); problem != "" {
				t.Fatalf("seed %d, step %d: %s\nSoftwares %+v\nrecord %+v", seed, step, problem, r.specs(), r.record)
			}
		}
		r.expectNoOrder(t)
	}
}

func (r *world) maybe(percent int) bool { return r.IntN(100) < percent }

func (r *world) specs() (all []v1alpha1.SoftwareSpec) {
	for _, s := range r.softwares {
		all = append(all, s.Spec)
	}
	return all
}

func (r *world) build() {
	roles := [][]string{{cp}, {w}, {cp, w}}
	for i := range 1 + r.IntN(4) {
		n := nodeOf(fmt.Sprintf("n-%d", i), roles[r.IntN(len(roles))]...)
		n.Standby = r.maybe(5)
		r.nodes = append(r.nodes, n)
	}
	for i := range 3 {
		r.softwares = append(r.softwares, &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}})
	}
}

// edit changes Softwares, uploads, nodes and the request of a user.
func (r *world) edit(step int) {
	names, versions := []string{"jq", "curl", "foo", "qat"}, []string{"", "", "1.0", "1.1", "1.10"}
	entries := func() (list []v1alpha1.SoftwareEntry) {
		for _, name := range names {
			if r.maybe(40) {
				list = append(list, v1alpha1.SoftwareEntry{Name: name, SoftwareOptions: v1alpha1.SoftwareOptions{Version: versions[r.IntN(5)], Disruption: []string{"", "Drain"}[r.IntN(2)]}})
			}
		}
		if r.maybe(3) {
			list = append(list, v1alpha1.SoftwareEntry{Invalid: "7"})
		}
		if r.maybe(3) {
			list = append(list, v1alpha1.SoftwareEntry{Invalid: `{"jq": 7}`, Name: "jq"})
		}
		return list
	}
	for _, s := range r.softwares {
		if r.maybe(50) {
			auto := r.maybe(60)
			s.Spec = v1alpha1.SoftwareSpec{MasterSoftware: entries(), WorkerSoftware: entries(), AutoUpdate: &auto}
		}
	}
	for range r.IntN(4) {
		version := versions[2+r.IntN(3)]
		r.list.Packages = append(r.list.Packages, protocol.Package{Name: names[r.IntN(4)], Version: version, Format: "deb", Architecture: "amd64", Owner: "o",
			Cluster: []string{"c", protocol.ClusterAll, "other"}[r.IntN(3)], SHA256: fmt.Sprint(r.IntN(1000)), Path: fmt.Sprint("/", r.IntN(1000))})
	}
	if r.maybe(30) {
		r.list.Packages = slices.DeleteFunc(r.list.Packages, func(protocol.Package) bool { return r.maybe(50) })
	}
	r.dead, r.silent = map[string]bool{}, map[string]bool{}
	for i, n := range r.nodes {
		r.dead[n.Name], r.silent[n.Name] = r.maybe(20), r.maybe(20)
		if r.maybe(5) {
			r.nodes[i].HostUID += "x" // another host
		}
	}
	if r.maybe(40) {
		r.asked = fmt.Sprintf("t%d%s", step, []string{"", " check", " update", " "}[r.IntN(4)])
	}
	r.now, r.quiet = r.now.Add(time.Duration(r.IntN(20))*time.Minute), false
}

func (r *world) wanted() []contract.Software {
	merged, _ := Merge(r.softwares, r.nodes)
	return Resolve(merged, Owner{Name: "o", Clusters: []string{"c", protocol.ClusterAll}}, r.list)
}

func (r *world) due() ([]Change, time.Time) {
	return Due(r.wanted(), r.nodes, r.record, func(n contract.Node) (time.Time, bool) { return time.Time{}, !r.dead[n.Name] }, r.asked, r.now)
}

// settle runs what is due until nothing is, and nothing waits for its time except nodes that do not answer.
func (r *world) settle() string {
	for range 2 + len(r.nodes) {
		if problem := r.exhaust(); problem != "" {
			return problem
		}
		_, next := r.due()
		if problem := r.check(!next.IsZero()); problem != "" || next.IsZero() {
			return problem
		}
		if !next.After(r.now) {
			return fmt.Sprintf("at %v, the next time is %v", r.now, next)
		}
		r.now = next
		if changes, again := r.due(); len(changes) == 0 {
			return fmt.Sprintf("at %v, nothing is due, and the next time is %v", next, again)
		}
	}
	return ""
}

// exhaust runs what is due now. A check and the changes that it has held up need two runs, and so does what the
// first run has found changed by hand, or on a node that answers again.
func (r *world) exhaust() string {
	for runs := 0; ; runs++ {
		changes, _ := r.due()
		if len(changes) == 0 {
			return ""
		}
		if runs == 2 {
			return fmt.Sprintf("after %d runs, it is still due to %s", runs, Text(changes))
		}
		r.run(ForRun(r.wanted(), changes, r.asked, 1, 0))
		r.quiet = true
	}
}

// check returns what is wrong while nothing is due. waiting means that nodes that did not answer, and rows
// that a check has left, are due later.
func (r *world) check(waiting bool) string {
	all := r.wanted()
	for _, n := range r.nodes {
		of, seen := r.record.Of(n), map[string]bool{}
		absent := n.Standby || r.dead[n.Name] || r.silent[n.Name] || waiting && of.Message != ""
		for _, s := range all {
			if !s.On(n.Roles) {
				continue
			}
			if seen[s.Name] {
				return fmt.Sprintf("node %s gets two entries of %s", n.Name, s.Name)
			}
			seen[s.Name] = true
			row := rowOf(of, s.Name)
			has := row.Installed == s.Version || s.Version == "" && row.Installed != ""
			excused := absent || waiting && row.State == contract.SoftwarePending || s.Problem != "" || s.Hold && row.Installed != "" ||
				row.State == contract.SoftwareFailed || row.State == contract.SoftwareDrifted
			if !has && !excused {
				return fmt.Sprintf("node %s has %+v, and %+v is wanted", n.Name, row, s)
			}
		}
		for _, row := range of.Packages {
			stays := slices.ContainsFunc(all, func(s contract.Software) bool {
				return s.Name == row.Name && (s.Problem != "" || s.On(n.Roles)) || s.Name == "" // an entry cannot be read
			})
			if row.Ours && !stays && row.State != contract.SoftwareFailed && !absent && !(waiting && row.State == contract.SoftwarePending) {
				return fmt.Sprintf("node %s still has %+v", n.Name, row)
			}
		}
	}
	return ""
}

// expectNoOrder shuffles everything and expects the same results.
func (r *world) expectNoOrder(t *testing.T) {
	t.Helper()
	type results struct {
		Wanted  []contract.Software
		Changes []Change
		Next    time.Time
		Rows    []v1alpha1.SoftwareStatus
	}
	compute := func() (all results) {
		all.Wanted = r.wanted()
		all.Changes, all.Next = r.due()
		for _, name := range []string{"a", "b", "c"} {
			i := slices.IndexFunc(r.softwares, func(s *v1alpha1.Software) bool { return s.Name == name })
			all.Rows = append(all.Rows, Rows(r.softwares[i], all.Wanted, r.nodes, r.record))
		}
		return all
	}
	r.edit(9) // so that something is due
	want := compute()
	shuffle(r.Rand, r.softwares)
	shuffle(r.Rand, r.nodes)
	shuffle(r.Rand, r.list.Packages)
	shuffle(r.Rand, r.record.Nodes)
	for _, n := range r.record.Nodes {
		shuffle(r.Rand, n.Packages)
	}
	for _, s := range r.softwares {
		shuffle(r.Rand, s.Spec.MasterSoftware)
		shuffle(r.Rand, s.Spec.WorkerSoftware)
	}
	if diff := cmp.Diff(want, compute()); diff != "" {
		t.Fatalf("in another order (-want +got):\n%s", diff)
	}
}

func shuffle[T any](r *rand.Rand, all []T) {
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}
