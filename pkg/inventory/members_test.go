package inventory

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// cluster returns the nodes of a text such as "m-1=etcd1 m-2 w-1 b-1". Names with m are of control
// planes, with w of workers, with b of both. The host of a node has the UID of its name, or the UID
// after an @.
func cluster(text string) []contract.Node {
	var nodes []contract.Node
	for i, word := range strings.Fields(text) {
		word, etcd, _ := strings.Cut(word, "=")
		name, uid, other := strings.Cut(word, "@")
		if !other {
			uid = name
		}
		n := map[byte]func(name, address string) contract.Node{'m': master, 'w': worker, 'b': both}[name[0]](name, fmt.Sprintf("10.60.0.%d", i+1))
		n.HostUID, n.Etcd = uid, etcd
		nodes = append(nodes, n)
	}
	return nodes
}

func describe(nodes []contract.Node) string {
	var words []string
	for _, n := range nodes {
		word := n.Name
		if n.Etcd != "" {
			word += "=" + n.Etcd
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestMembers(t *testing.T) {
	for _, tc := range []struct {
		name            string
		members         string // before the run
		etcdNext        int
		nodes           string
		operation       string
		remove          []string
		restore         bool
		removeSet       string
		want            string
		wantNext        int
		wantEtcd, notes string // the group etcd, and parts of the notes
	}{
		{name: "one control plane", nodes: "m-1 w-1 w-2", want: "m-1=etcd1 w-1 w-2", wantNext: 2, wantEtcd: "m-1"},
		{name: "three", nodes: "b-3 w-1 b-1 b-2", want: "b-3=etcd1 b-1=etcd2 b-2=etcd3 w-1", wantNext: 4, wantEtcd: "b-3 b-1 b-2"},
		{name: "two", nodes: "m-1 m-2", want: "m-1=etcd1 m-2", wantNext: 2, wantEtcd: "m-1", notes: "m-2 is left out"},
		{name: "an unknown name is not kept", nodes: "m-1=etcd7 w-1=etcd8", want: "m-1=etcd1 w-1", wantNext: 2, wantEtcd: "m-1"},
		{
			name: "a worker is added", members: "m-1=etcd1 w-1", etcdNext: 2, nodes: "m-1 w-1 w-2",
			want: "m-1=etcd1 w-1 w-2", wantNext: 2, wantEtcd: "m-1",
		},
		{
			name: "from one control plane to two", members: "m-1=etcd1 w-1", etcdNext: 2, nodes: "m-1 m-2 w-1",
			want: "m-1=etcd1 m-2 w-1", wantNext: 2, wantEtcd: "m-1", notes: "m-2 is left out",
		},
		{
			name: "from two to three", members: "m-1=etcd1 m-2", etcdNext: 2, nodes: "m-1 m-2 m-3",
			want: "m-1=etcd1 m-2=etcd2 m-3=etcd3", wantNext: 4, wantEtcd: "m-1 m-2 m-3",
		},
		{
			name: "the new one is first in the spec", members: "m-2=etcd1 m-3", etcdNext: 2, nodes: "m-1 m-2 m-3",
			want: "m-2=etcd1 m-3=etcd2 m-1=etcd3", wantNext: 4, wantEtcd: "m-2 m-3 m-1",
		},
		{
			name: "the first one is replaced under its name", members: "m-1=etcd1 m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-1@new m-2 m-3",
			want: "m-2=etcd2 m-3=etcd3 m-1=etcd4", wantNext: 5, wantEtcd: "m-2 m-3 m-1",
		},
		{
			name: "a replaced one is replaced again", members: "m-2=etcd2 m-3=etcd3 m-1=etcd4", etcdNext: 5, nodes: "m-1@newer m-2 m-3",
			want: "m-2=etcd2 m-3=etcd3 m-1=etcd5", wantNext: 6, wantEtcd: "m-2 m-3 m-1",
		},
		{
			name: "a member stays before one that was left out", members: "m-4 m-2=etcd2 m-3=etcd3 m-1=etcd4", etcdNext: 5, nodes: "m-1 m-2 m-3 m-4",
			want: "m-4 m-2=etcd2 m-3=etcd3 m-1=etcd4", wantNext: 5, wantEtcd: "m-2 m-3 m-1", notes: "m-4 is left out",
		},
		{
			name: "the first one leaves", members: "m-1=etcd1 m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-1 m-2 m-3 w-1", remove: []string{"m-1"},
			want: "m-2=etcd2 m-3=etcd3 m-1=etcd1 w-1", wantNext: 4, wantEtcd: "m-2 m-3 m-1",
		},
		{
			name: "after that", members: "m-1=etcd1 m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-2 m-3 w-1", remove: []string{"m-1"},
			want: "m-2=etcd2 m-3=etcd3 w-1", wantNext: 4, wantEtcd: "m-2", notes: "etcd has 2 members",
		},
		{
			name: "one of two members leaves", members: "m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-2 m-3", remove: []string{"m-2"},
			want: "m-3=etcd3 m-2=etcd2", wantNext: 4, wantEtcd: "m-3 m-2", notes: "etcd has 2 members",
		},
		{
			name: "one of two members in a set that shrinks", members: "m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-2 m-3", removeSet: "masters",
			want: "m-2=etcd2 m-3=etcd3", wantNext: 4, wantEtcd: "m-2 m-3", notes: "etcd has 2 members",
		},
		{
			name: "two members and a new worker", members: "m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-2 m-3 w-1",
			want: "m-2=etcd2 m-3=etcd3 w-1", wantNext: 4, wantEtcd: "m-2", notes: "etcd has 2 members",
		},
		{
			name: "two members and a new control plane", members: "m-2=etcd2 m-3=etcd3", etcdNext: 4, nodes: "m-2 m-3 m-4",
			want: "m-2=etcd2 m-3=etcd3 m-4=etcd4", wantNext: 5, wantEtcd: "m-2 m-3 m-4",
		},
		{
			name: "scale.yml makes none a member", members: "m-1=etcd1 m-2=etcd2 m-4", etcdNext: 4, nodes: "m-1 m-2 m-4 w-1", operation: contract.OperationAddNodes,
			want: "m-1=etcd1 m-2=etcd2 m-4 w-1", wantNext: 4, wantEtcd: "m-1", notes: "m-4 is left out",
		},
		{
			name: "variables without a drain make none a member", members: "m-1=etcd1 m-2=etcd2 m-4 w-1", etcdNext: 4, nodes: "m-1 m-2 m-4 w-1", operation: contract.OperationConfigure,
			want: "m-1=etcd1 m-2=etcd2 m-4 w-1", wantNext: 4, wantEtcd: "m-1", notes: "m-4 is left out",
		},
		{
			name: "scale.yml without a record", nodes: "m-1 w-1", operation: contract.OperationAddNodes, want: "m-1=etcd1 w-1", wantNext: 2, wantEtcd: "m-1",
		},
		{
			name: "a removal makes none a member", members: "m-1=etcd1 m-2 w-1", etcdNext: 2, nodes: "m-1 m-2 m-3 w-1", remove: []string{"m-3"},
			want: "m-1=etcd1 m-2 m-3 w-1", wantNext: 2, wantEtcd: "m-1", notes: "m-3 is left out",
		},
		{
			name: "lost names", members: "m-1 m-2 m-3 m-4 w-1", nodes: "m-2 m-1@new m-3 m-4 w-1",
			want: "m-2=etcd2 m-3=etcd3 m-4=etcd4 m-1 w-1", wantNext: 5, wantEtcd: "m-2 m-3 m-4", notes: "m-1 is left out",
		},
		{
			name: "the number is lost", members: "m-1=etcd5 m-2=other", nodes: "m-1 m-2 m-3",
			want: "m-1=etcd5 m-2=other m-3=etcd6", wantNext: 7, wantEtcd: "m-1 m-2 m-3",
		},
		{
			name: "a restore makes all members new", members: "m-1=etcd1 m-2=etcd2 m-3=etcd3 w-1", etcdNext: 4, nodes: "m-2@new m-1 m-3 w-1", restore: true,
			want: "m-2=etcd4 m-1=etcd5 m-3=etcd6 w-1", wantNext: 7, wantEtcd: "m-2 m-1 m-3",
		},
		{
			name: "a restore of an even number", members: "m-1=etcd2 m-2=etcd3", nodes: "m-1 m-2", restore: true,
			want: "m-1=etcd4 m-2", wantNext: 5, wantEtcd: "m-1", notes: "m-2 is left out",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(func(r *contract.Request) {
				r.Operation, r.Members, r.EtcdNext = tc.operation, cluster(tc.members), tc.etcdNext
			})
			nodes := cluster(tc.nodes)
			if tc.restore {
				r.Operation, r.Restore = contract.OperationRestore, &contract.Restore{}
			}
			if tc.remove != nil {
				r.Operation, r.Remove = contract.OperationRemoveControlPlane, &contract.Removal{Nodes: tc.remove}
			}
			if tc.operation == contract.OperationConfigure {
				r.Upgrade = &contract.Upgrade{Narrow: &contract.Narrow{Variables: []string{"a"}}}
			}
			if tc.removeSet != "" {
				r.Operation = contract.OperationRemoveControlPlane
				r.Remove = &contract.Removal{Sets: []contract.SetRemoval{{Name: tc.removeSet, Count: 1}}}
				for i := range nodes {
					nodes[i].Set = tc.removeSet
				}
			}
			before := describe(r.Members)
			got, next := Members(r, append(nodes, contract.Node{Name: "spare", Standby: true}))
			if describe(got) != tc.want || next != tc.wantNext {
				t.Errorf("Members = %s, next %d; want %s, next %d", describe(got), next, tc.want, tc.wantNext)
			}
			if describe(r.Members) != before {
				t.Errorf("the request has changed: %s", describe(r.Members))
			}
			rendered, err := Render(r, nodes)
			if err != nil {
				t.Fatal(err)
			}
			want := "[etcd]\n" + strings.ReplaceAll(tc.wantEtcd, " ", "\n") + "\n\n"
			if !strings.Contains(string(rendered.HostsINI), want) {
				t.Errorf("want the group etcd %s in\n%s", tc.wantEtcd, rendered.HostsINI)
			}
			if notes := strings.Join(rendered.Notes, "; "); !strings.Contains(notes, tc.notes) || (tc.notes == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, tc.notes)
			}
		})
	}
}

// For the name of a member, the record is the only source, and a task of another build can have
// written it.
func TestRenderRefusesNamesInEtcd(t *testing.T) {
	for members, want := range map[string]string{
		"m-1=etcd1\nevil=1 m-2": "does not match", "m-1={{evil}} m-2": "does not match", "m-1=etcd1 m-2=etcd1": "m-1 and m-2 have the same name etcd1",
	} {
		r := request()
		for i, word := range strings.Split(members, " m") { // cluster would split at a line
			n := cluster([]string{"m-1", "m-2"}[i])[0]
			_, n.Etcd, _ = strings.Cut(word, "=")
			r.Members = append(r.Members, n)
		}
		if got, err := Render(r, cluster("m-1 m-2")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q\n%s", members, err, want, got.HostsINI)
		}
	}
}

// In random lives of a cluster, no host gets a name of another host, no member is forgotten, and
// kubespray can join every new member.
func TestLivesOfMembers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for life := range 300 {
		var record contract.Installed
		owners, hosts := map[string]string{}, 0
		for step := range 20 {
			nodes := change(random, record.Nodes, &hosts)
			r := contract.Request{Record: contract.Record{Members: record.Nodes, EtcdNext: record.EtcdNext}}
			got, next := Members(r, nodes)
			if next < record.EtcdNext {
				t.Fatalf("life %d, step %d: the next number falls from %d to %d", life, step, record.EtcdNext, next)
			}
			for i, n := range got {
				if n.Etcd == "" {
					continue
				}
				if owner := owners[n.Etcd]; owner != "" && owner != n.HostUID {
					t.Fatalf("life %d, step %d: %s had %s, now %s has it", life, step, owner, n.Etcd, n.HostUID)
				}
				if _, had := owners[n.Etcd]; !had {
					joinable(t, got[:i], n)
				}
				owners[n.Etcd] = n.HostUID
			}
			for _, old := range record.Nodes {
				i := slices.IndexFunc(got, func(n contract.Node) bool { return n.HostUID == old.HostUID })
				if old.Etcd != "" && i >= 0 && got[i].Etcd != old.Etcd {
					t.Fatalf("life %d, step %d: %s was the member %s, is %q", life, step, old.Name, old.Etcd, got[i].Etcd)
				}
			}
			record.Nodes, record.EtcdNext = got, next
		}
	}
}

// change adds a control plane, or replaces or removes one that is not the last.
func change(random *rand.Rand, nodes []contract.Node, hosts *int) []contract.Node {
	nodes = slices.Clone(nodes)
	*hosts++
	fresh := cluster(fmt.Sprintf("m-%d", *hosts))[0]
	i := 0
	if len(nodes) > 0 {
		i = random.IntN(len(nodes))
	}
	switch kind := random.IntN(3); {
	case kind == 0 && len(nodes) > 1:
		nodes = slices.Delete(nodes, i, i+1)
	case kind == 1 && len(nodes) > 1:
		nodes[i] = fresh
	case len(nodes) < 7:
		nodes = slices.Insert(nodes, i, fresh)
	}
	return nodes
}

// joinable fails if kubespray could not join the new member. While a member joins, kubespray names
// the members before it by their positions, and etcd refuses a list with the same name twice.
func joinable(t *testing.T, before []contract.Node, n contract.Node) {
	t.Helper()
	position := 0
	for _, other := range before {
		if other.Etcd != "" {
			if position++; n.Etcd == fmt.Sprintf("etcd%d", position) {
				t.Fatalf("%s joins as %s, like the member at position %d of %s", n.Name, n.Etcd, position, describe(before))
			}
		}
	}
}

// TestVersionsOfMembers: a node keeps its version through a run that upgrades nothing. A node that the
// run installs has none, even on the host or by the name of a lost one.
func TestVersionsOfMembers(t *testing.T) {
	worker := func(name, uid, version string) contract.Node {
		return contract.Node{Name: name, Roles: []string{contract.RoleWorker}, HostUID: uid, Version: version, Settings: version, Patched: version}
	}
	r := contract.Request{Order: contract.Order{Operation: contract.OperationAddNodes}, Record: contract.Record{Lost: []string{"b", "c", "d"}, Kept: []string{"d"},
		Members: []contract.Node{worker("a", "1", "1.34.3"), worker("b", "2", "1.34.3"), worker("c", "3", "1.34.3"), worker("d", "4", "1.34.3")}}}
	got, _ := Members(r, []contract.Node{worker("a", "1", ""), worker("b", "9", "1.33.0"), worker("x", "3", ""), worker("d", "4", "")})
	want := []contract.Node{worker("a", "1", "1.34.3"), worker("b", "9", ""), worker("x", "3", ""), worker("d", "4", "1.34.3")}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("nodes %+v, want %+v", got, want)
	}
}
