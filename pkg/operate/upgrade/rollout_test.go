package upgrade

import "testing"

func TestRolloutTrouble(t *testing.T) {
	for _, r := range []struct {
		line string
		lost int
		want string
	}{
		{"Deployment\tkube-system\tcoredns\t2\t2\t2\t2\t2\t2\t\t\t\t", 0, ""},
		{"Deployment\tkube-system\tcoredns\t3\t2\t2\t2\t2\t2\t\t\t\t", 0, "Deployment kube-system/coredns was changed, and its controller has not seen the change yet"},
		{"Deployment\tkube-system\tcoredns\t3\t3\t2\t3\t1\t2\t\t\t\t", 0, "Deployment kube-system/coredns has 1 of 2 new pods, and 2 old ones"},
		{"Deployment\tkube-system\tcoredns\t2\t2\t2\t3\t2\t2\t\t\t\t", 0, "Deployment kube-system/coredns has 2 of 2 new pods, and 1 old ones"},
		{"Deployment\tkube-system\tcoredns\t2\t2\t2\t2\t2\t1\t\t\t\t", 0, "Deployment kube-system/coredns has 1 of 2 pods available"},
		{"Deployment\tkube-system\tcoredns\t2\t2\t0\t\t\t\t\t\t\t", 0, ""},
		{"DaemonSet\tkube-system\tdns\t2\t2\t\t\t\t\t3\t3\t3\tRollingUpdate", 0, ""},
		{"DaemonSet\tkube-system\tdns\t2\t2\t\t\t\t\t3\t1\t3\tRollingUpdate", 0, "DaemonSet kube-system/dns has 1 of 3 new pods, and 0 old ones"},
		{"DaemonSet\tkube-system\tdns\t2\t2\t\t\t\t\t3\t\t3\tOnDelete", 0, ""},
		{"DaemonSet\tkube-system\tdns\t2\t2\t\t\t\t\t3\t3\t2\tRollingUpdate", 0, "DaemonSet kube-system/dns has 2 of 3 pods available"},
		{"DaemonSet\tkube-system\tdns\t2\t2\t\t\t\t\t3\t3\t2\tRollingUpdate", 1, ""},
	} {
		all := parseRollouts([]byte(r.line + "\n"))
		if len(all) != 1 {
			t.Fatalf("%q is parsed as %+v", r.line, all)
		}
		if got := all[0].trouble(r.lost); got != r.want {
			t.Errorf("%q, %d lost: %q, want %q", r.line, r.lost, got, r.want)
		}
	}
}
