package config

// Facts are the properties of the machine that change how components must be set up.
type Facts struct {
	LowerOOMScore bool // CAP_SYS_RESOURCE: may processes be given a lower oom_score_adj?
	AppArmor      bool // does the kernel have it?
	BridgeNF      bool // does traffic between pods on the bridge pass iptables?
}
