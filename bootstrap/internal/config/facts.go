package config

// Facts are the properties of the machine that affect the configuration of components.
type Facts struct {
	LowerOOMScore bool // runc may lower oom_score_adj of processes (CAP_SYS_RESOURCE)
	AppArmor      bool // the kernel has AppArmor
	BridgeNF      bool // traffic between pods on the bridge passes iptables
}
