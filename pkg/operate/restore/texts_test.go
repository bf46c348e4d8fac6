package restore

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
)

func TestMarksOf(t *testing.T) {
	var o nodeObject
	o.Metadata.Labels = map[string]string{"node-role.kubernetes.io/control-plane": "", "site": "a_b.c", "bad": "$(reboot)", "; reboot": "x"}
	o.Spec.Taints = []struct{ Key, Value, Effect string }{
		{"node-role.kubernetes.io/control-plane", "", "NoSchedule"}, {"node.kubernetes.io/not-ready", "", "NoExecute"}, {"a", "`x`", "NoSchedule"}, {"b", "", "x;y"},
	}
	labels, taints := marksOf(o)
	if labels != " node-role.kubernetes.io/control-plane= site=a_b.c" || taints != " node-role.kubernetes.io/control-plane=:NoSchedule" {
		t.Errorf("labels %q, taints %q", labels, taints)
	}
}

func TestPlacesOf(t *testing.T) {
	planes := []contract.Node{{Name: "master-1", Address: "10.60.0.1"}}
	good := etcd.Member{Name: "etcd1", PeerURLs: []string{"https://10.60.0.1:2380"}}
	if all, err := placesOf([]etcd.Member{good}, planes); err != nil || initialCluster(all) != "etcd1=https://10.60.0.1:2380" {
		t.Errorf("%v, %v", all, err)
	}
	for name, bad := range map[string]etcd.Member{
		"no name":         {PeerURLs: good.PeerURLs},
		"a script":        {Name: "$(reboot)", PeerURLs: good.PeerURLs},
		"another machine": {Name: "etcd1", PeerURLs: []string{"https://10.60.0.2:2380"}},
		"no TLS":          {Name: "etcd1", PeerURLs: []string{"http://10.60.0.1:2380"}},
		"two addresses":   {Name: "etcd1", PeerURLs: []string{"https://10.60.0.1:2380", "https://10.60.0.1:2381"}},
	} {
		if all, err := placesOf([]etcd.Member{bad}, planes); err == nil {
			t.Errorf("%s: accepted as %v", name, all)
		}
	}
}
