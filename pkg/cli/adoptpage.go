package cli

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// page shows the hosts, the cluster, and what would be written.
func (a *adoption) page(file string) (string, error) {
	rows := [][]string{{"HOST", "SERVER", "NODE", "WHY"}}
	var claims []string
	for _, r := range a.plan.Rows {
		rows = append(rows, []string{r.Host, string(r.Standing), dash(r.Node), clean(r.Why)})
		if r.Node != "" {
			claims = append(claims, r.Host)
		}
	}
	r := a.plan.Record.Request
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCluster %s (%s): Kubernetes %s, pods %s, services %s\n", columns(rows), a.user.Cluster(), a.user.UID, clean(r.KubernetesVersion), clean(r.PodSubnet), clean(r.ServiceSubnet))
	if file == "" && a.stored == nil {
		u, err := a.site.manifest(a.plan.Provisioning)
		if err != nil {
			return "", err
		}
		text, err := yaml.Marshal(u.Object)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	name := a.user.Name
	fmt.Fprintf(&b, "Would be written:\n  Provisioning %s%s\n  ConfigMap %s: the record of %d nodes\n  ConfigMap %s: %d SSH host keys\n  claims of %s\n", name, source(file, a.stored),
		contract.InstalledName(name), len(a.plan.Record.Nodes), contract.KnownHostsName(name), len(a.plan.Pins), dash(strings.Join(claims, ", ")))
	for _, n := range a.plan.Notes {
		fmt.Fprintf(&b, "%s.\n", clean(n))
	}
	if len(a.plan.Next) > 0 {
		fmt.Fprintf(&b, "After that, BPA would: %s\n", clean(strings.Join(a.plan.Next, "; ")))
	}
	return b.String(), nil
}

func source(file string, stored *v1alpha1.Provisioning) string {
	switch {
	case file != "":
		return " of " + file
	case stored != nil:
		return " as it is stored"
	}
	return ", derived as above"
}

func cleaned(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, clean(text))
	}
	return all
}
