package layout

// The machine's own network. The ranges keep clear of those that application clusters use
// (10.244.0.0/16 of ICN, 10.233.0.0/16 of kubespray).
const (
	NodeName    = "bootstrap"
	Bridge      = "bpa0"
	BridgeMAC   = "02:60:0a:3c:00:01" // fixed: a bridge without a set address takes its ports', and changes with them
	NodeIP      = "10.60.0.1"         // on the bridge: the node's address and the pods' gateway
	NodeCIDR    = "10.60.0.1/24"
	PodCIDR     = "10.60.0.0/24"
	PodFirst    = "10.60.0.10"
	ServiceCIDR = "10.61.0.0/16"
	ServiceIP   = "10.61.0.1" // kubernetes.default
	DNSIP       = "10.61.0.10"
	Depot       = "10.60.0.1:5000" // plain, for reading; what images are named after
	DepotTLS    = "10.60.0.1:5443" // for reading, and for writing with a token
	DepotProbe  = "127.0.0.1:5081" // for the supervisor's probes, which no client of the others can keep out
	DepotLocal  = "127.0.0.1:5000" // for who may read DepotToken, such as the machine itself, which fills the depot before anybody could judge another token
	APIServer   = "https://10.60.0.1:6443"
)
