package controlplane

// QuorumAdvice is the end of the message if etcd has no majority, so that no API server answers.
const QuorumAdvice = "If more than half of the members of etcd are lost, switch on one of their machines or repair it; the next attempt continues. " +
	"If no machine is off, start etcd on the new one: systemctl start etcd. If the machines are lost for good, " +
	"see docs/kubespray.md, \"" + recoverySection + "\". Do not run kubespray's recover-control-plane.yml"

// recoverySection is the heading of the text about a lost majority.
const recoverySection = "Recover a lost majority of etcd"

// RefreshCertificates is the variable with which kubespray replaces the certificates of all members of
// etcd in the play. It is true by default.
const RefreshCertificates = "force_etcd_cert_refresh"
