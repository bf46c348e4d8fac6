package layout

// The network of the bootstrap machine. Its ranges do not overlap with the ranges of application
// clusters (10.244.0.0/16 in ICN, 10.233.0.0/16 in kubespray).
const (
	NodeName    = "bootstrap"
	Bridge      = "bpa0"
	BridgeMAC   = "02:60:0a:3c:00:01" // fixed, because a bridge otherwise takes the address of a port, which can change
	NodeIP      = "10.60.0.1"         // on the bridge: the address of the node and the gateway of pods
	NodeCIDR    = "10.60.0.1/24"
	PodCIDR     = "10.60.0.0/24"
	PodFirst    = "10.60.0.10"
	ServiceCIDR = "10.61.0.0/16"
	ServiceIP   = "10.61.0.1" // Service kubernetes.default
	DNSIP       = "10.61.0.10"
	Depot       = "10.60.0.1:5000" // HTTP, read only; image references start with it
	DepotTLS    = "10.60.0.1:5443" // HTTPS, for reads, and for writes with a token
	// DepotProbe is for health probes of the supervisor only, so that clients of the other
	// listeners cannot use up its connections.
	DepotProbe = "127.0.0.1:5081"
	// DepotLocal accepts writes with the token in DepotToken. The machine uses it to fill the depot
	// before an API server runs that could check other tokens.
	DepotLocal = "127.0.0.1:5000"
	APIServer  = "https://10.60.0.1:6443"
)
