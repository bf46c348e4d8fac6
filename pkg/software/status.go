package software

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Rows returns the nodes, the counts and the summary for the status of a Software; all other fields are
// empty. It lists the packages that the Software requests, and those that its present status lists, that no
// Software requests any more, and that are not removed yet. wanted are the packages of the cluster, and nodes
// its nodes without Lost ones.
func Rows(s *v1alpha1.Software, wanted []contract.Software, nodes []contract.Node, record contract.SoftwareRecord) v1alpha1.SoftwareStatus {
	var status v1alpha1.SoftwareStatus
	for _, n := range nodes {
		if n.Standby {
			continue
		}
		of := record.Of(n)
		rows := append(requested(s, wanted, n, of), removed(s, wanted, n, of)...)
		if len(rows) == 0 {
			continue
		}
		slices.SortFunc(rows, func(a, b v1alpha1.SoftwarePackageStatus) int { return cmp.Compare(a.Name, b.Name) })
		status.Nodes = append(status.Nodes, v1alpha1.SoftwareNodeStatus{Name: n.Name, Checked: seconds(of.Checked), Message: of.Message, Packages: rows})
		count(&status, rows)
	}
	slices.SortFunc(status.Nodes, func(a, b v1alpha1.SoftwareNodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	status.Summary = fmt.Sprintf("%d/%d", status.Installed, status.Total)
	shrink(&status, mostRows)
	return status
}

const (
	// mostRows limits the rows of a status, in bytes: etcd takes no object above 1.5 MiB.
	mostRows = 800 << 10
	// aroundRow and aroundNode are the lengths of the names of the fields and of the times, in bytes.
	aroundRow, aroundNode = 140, 80
)

// shrink leaves out rows above that many bytes: first those of installed packages, and then the last ones. The
// counts have all of them.
func shrink(status *v1alpha1.SoftwareStatus, most int) {
	if size := sizeOf(status.Nodes); size <= most {
		return
	}
	keep := func(part func(v1alpha1.SoftwarePackageStatus) bool) {
		var nodes []v1alpha1.SoftwareNodeStatus
		for _, n := range status.Nodes {
			before := len(n.Packages)
			n.Packages = slices.DeleteFunc(n.Packages, func(p v1alpha1.SoftwarePackageStatus) bool { return !part(p) })
			status.Omitted += int32(before - len(n.Packages))
			if len(n.Packages) > 0 {
				nodes = append(nodes, n)
			}
		}
		status.Nodes = nodes
	}
	keep(func(p v1alpha1.SoftwarePackageStatus) bool { return p.State != string(contract.SoftwareInstalled) })
	left := most - len(status.Nodes)*aroundNode
	for _, n := range status.Nodes {
		left -= len(n.Name) + len(n.Message)
	}
	keep(func(p v1alpha1.SoftwarePackageStatus) bool { left -= sizeOfRow(p); return left >= 0 })
}

func sizeOf(nodes []v1alpha1.SoftwareNodeStatus) (size int) {
	for _, n := range nodes {
		size += aroundNode + len(n.Name) + len(n.Message)
		for _, p := range n.Packages {
			size += sizeOfRow(p)
		}
	}
	return size
}

func sizeOfRow(p v1alpha1.SoftwarePackageStatus) int {
	return aroundRow + len(p.Name) + len(p.Wanted) + len(p.Installed) + len(p.Message)
}

// count adds rows to the counts. An outdated package is installed.
func count(status *v1alpha1.SoftwareStatus, rows []v1alpha1.SoftwarePackageStatus) {
	for _, row := range rows {
		status.Total++
		switch contract.SoftwareState(row.State) {
		case contract.SoftwareInstalled, contract.SoftwareOutdated:
			status.Installed++
		case contract.SoftwareFailed:
			status.Failed++
		}
	}
}

// requested returns the rows of the packages that a Software requests for a node.
func requested(s *v1alpha1.Software, wanted []contract.Software, n contract.Node, record contract.SoftwareNode) (rows []v1alpha1.SoftwarePackageStatus) {
	for _, name := range namesOn(s, n.Roles) {
		of := contract.Software{Name: name}
		if i := slices.IndexFunc(wanted, func(w contract.Software) bool { return w.Name == name && w.On(n.Roles) }); i >= 0 {
			of = wanted[i]
		}
		rows = append(rows, requestedRow(of, record.Architecture, rowOf(record, name)))
	}
	return rows
}

// namesOn returns the names of the packages that a Software requests for nodes with these roles.
func namesOn(s *v1alpha1.Software, roles []string) (names []string) {
	add := func(role string, entries []v1alpha1.SoftwareEntry) {
		for _, e := range entries {
			if slices.Contains(roles, role) && e.Name != "" {
				names = append(names, e.Name)
			}
		}
	}
	add(contract.RoleControlPlane, s.Spec.MasterSoftware)
	add(contract.RoleWorker, s.Spec.WorkerSoftware)
	slices.Sort(names)
	return slices.Compact(names)
}

// requestedRow returns the row of a package that a node should have. If the last run was to do something
// else, its result says nothing about the present request.
func requestedRow(all contract.Software, architecture string, row contract.SoftwarePackage) v1alpha1.SoftwarePackageStatus {
	status, s := recorded(row), all.For(architecture)
	status.Wanted = s.Version
	if all.Versions != nil && architecture == "" {
		status.Wanted = "" // it depends on the architecture, which a run finds out
	}
	has := row.State == contract.SoftwareInstalled || row.State == contract.SoftwareOutdated
	switch {
	case s.Problem != "" && !has:
		status.Message = s.Problem
		status.State = string(cmp.Or(row.State, contract.SoftwarePending))
	case s.Problem != "" || row.State != "" && unfinished(row.State):
	case processed(all, row):
		status.Wanted = cmp.Or(s.Version, row.Wanted)
	case s.Hold && row.Installed != "":
		if has && s.Version != "" && older(s, row.Installed) {
			status.State, status.Since = string(contract.SoftwareOutdated), nil
			status.Message = fmt.Sprintf("version %s is available, and automatic updates are off", s.Version)
		}
	default:
		status.State, status.Message, status.Since = string(contract.SoftwarePending), "", nil
	}
	return status
}

// older reports whether the installed version is older than the one in the depot.
func older(s contract.Software, installed string) bool {
	format := protocol.FormatDeb
	if len(s.Files) > 0 && s.Files[0].Format == string(protocol.FormatRPM) {
		format = protocol.FormatRPM
	}
	return CompareVersions(format, installed, s.Version) < 0
}

// removed returns the rows of the packages that a Software had on a node, and that are not removed yet.
func removed(s *v1alpha1.Software, wanted []contract.Software, n contract.Node, record contract.SoftwareNode) (rows []v1alpha1.SoftwarePackageStatus) {
	had := map[string]bool{}
	for _, of := range s.Status.Nodes {
		for _, p := range of.Packages {
			had[p.Name] = had[p.Name] || of.Name == n.Name
		}
	}
	for _, row := range record.Packages {
		still := slices.ContainsFunc(wanted, func(w contract.Software) bool { return w.Name == row.Name && w.On(n.Roles) })
		if !row.Ours || !had[row.Name] || still {
			continue
		}
		status := recorded(row)
		status.Wanted = ""
		if row.Intent != contract.SoftwareRemoval && row.State != contract.SoftwareRemoving {
			status.State, status.Since = string(contract.SoftwarePending), nil
			status.Message = "no Software requests the package any more; it waits for its removal"
			if stays := contract.SoftwareStays(wanted, row.Name); stays != nil {
				status.Message = stays.Problem
			}
		}
		rows = append(rows, status)
	}
	return rows
}

// recorded returns a row as the record has it.
func recorded(row contract.SoftwarePackage) v1alpha1.SoftwarePackageStatus {
	return v1alpha1.SoftwarePackageStatus{Name: row.Name, Wanted: row.Wanted, Installed: row.Installed, State: string(row.State),
		Since: seconds(row.Since), Message: row.Message}
}

// seconds returns a time as the API server stores it, so that an equal status is not written again; nil: never.
func seconds(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}
