package software

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
)

// Record is the state of the software of a cluster, in a ConfigMap that the reconciler watches.
type Record struct {
	store playbook.Store
	now   func() time.Time
	all   contract.SoftwareRecord
}

// ReadRecord reads the record.
func ReadRecord(ctx context.Context, store playbook.Store, now func() time.Time) (*Record, error) {
	r := &Record{store: store, now: now}
	text, err := store.Get(ctx, contract.KeySoftware)
	if err != nil {
		return r, err
	}
	if r.all, err = contract.ParseSoftwareRecord(text); err != nil {
		return nil, fmt.Errorf("read %s: %w", contract.KeySoftware, err)
	}
	return r, nil
}

// Keep removes the nodes that are none of the cluster any more, or whose host is another one.
func (r *Record) Keep(nodes []contract.Node) {
	r.all.Nodes = slices.DeleteFunc(r.all.Nodes, func(s contract.SoftwareNode) bool {
		return !slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == s.Node && n.HostUID == s.Host })
	})
}

// of returns the record of a node.
func (r *Record) of(n contract.Node) contract.SoftwareNode { return r.all.Of(n) }

// set replaces the record of a node. It keeps the time of rows that are as before.
func (r *Record) set(n contract.Node, next contract.SoftwareNode) {
	before := r.all.Of(n).Packages
	for i, row := range next.Packages {
		old := rowOf(before, row.Name)
		next.Packages[i].Since = old.Since
		if old.State != row.State || old.Installed != row.Installed || old.Since.IsZero() {
			next.Packages[i].Since = r.time()
		}
	}
	slices.SortFunc(next.Packages, func(a, b contract.SoftwarePackage) int { return cmp.Compare(a.Name, b.Name) })
	r.all.Nodes = slices.DeleteFunc(r.all.Nodes, func(s contract.SoftwareNode) bool { return s.Node == n.Name })
	r.all.Nodes = append(r.all.Nodes, next)
	slices.SortFunc(r.all.Nodes, func(a, b contract.SoftwareNode) int { return cmp.Compare(a.Node, b.Node) })
}

func (r *Record) time() time.Time { return r.now().UTC().Truncate(time.Second) }

// End stores that a run has answered what a person has asked for: it has looked at the nodes, or has ended.
func (r *Record) End(ctx context.Context, asked string) error {
	r.all.Asked = cmp.Or(asked, r.all.Asked)
	return r.Write(ctx)
}

// mostRecord limits the record as it is stored, in bytes: a ConfigMap has at most 1 MiB.
const mostRecord = 900 << 10

// Write stores the record. Messages become shorter if there are very many, and are left out in the end.
func (r *Record) Write(ctx context.Context) error {
	text, err := r.all.Encode()
	for most := mostMessage / 3; err == nil && len(text) > mostRecord && most > 0; most /= 3 {
		r.shorten(most)
		text, err = r.all.Encode()
	}
	if err != nil {
		return err
	}
	if len(text) > mostRecord {
		return r.tooLong(len(text))
	}
	return r.store.Set(ctx, contract.KeySoftware, text)
}

// shorten limits the messages to that many bytes. Messages that would say nothing any more are left out.
func (r *Record) shorten(most int) {
	const least = 20
	for i, n := range r.all.Nodes {
		for k, row := range n.Packages {
			if most < least {
				n.Packages[k].Message = ""
			} else {
				n.Packages[k].Message = redacted(row.Message, most)
			}
		}
		if most < least {
			r.all.Nodes[i].Message = redacted(n.Message, least)
		}
	}
}

// tooLong says why the API server would refuse the record, and what to do.
func (r *Record) tooLong(size int) error {
	rows := 0
	for _, n := range r.all.Nodes {
		rows += len(n.Packages)
	}
	return fmt.Errorf("the record of the software of this cluster has %d packages on %d nodes, which are %d bytes after compression. Its ConfigMap can have %d. "+
		"Put packages that always come together into one tar package, or take entries out of the Softwares", rows, len(r.all.Nodes), size, mostRecord)
}

// Count returns the number of rows in each state.
func (r *Record) Count() map[contract.SoftwareState]int {
	count := map[contract.SoftwareState]int{}
	for _, n := range r.all.Nodes {
		for _, row := range n.Packages {
			count[row.State]++
		}
	}
	return count
}
