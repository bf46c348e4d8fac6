package inventory

import "github.com/akraino-icn/bpa/pkg/contract"

// RenderRecord renders the inventory of an installed cluster from its record, as a run that works on the record does.
// claimed are the nodes for which select-hosts has claimed hosts at last: their addresses are the newest. The checksums
// that seed-registry has found in the depot are not in it, because a record does not have them.
func RenderRecord(installed contract.Installed, claimed []contract.Node) (Inventory, error) {
	r := contract.Request{Spec: installed.Request, Record: contract.Record{Members: installed.Nodes, EtcdNext: installed.EtcdNext}}
	r.Readdress(claimed)
	return Render(r, r.Members)
}
