package machine

import (
	"context"
	"crypto/x509"
	_ "embed" // for the script
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
)

//go:embed scripts/member.sh
var member string

var memberScript = join(lists, member)

// Membership is what a machine shows of the Kubernetes cluster that its kubelet is in. None of it is secret.
type Membership struct {
	// CA are the certificates of the cluster's authority, as the kubelet trusts them; nil: there is none.
	CA []*x509.Certificate
	// Kubelet is the certificate with which the kubelet calls the API server; nil: there is none.
	Kubelet *x509.Certificate
	// ControlPlane reports that the machine has the kubeconfig of an administrator of the cluster.
	ControlPlane bool
}

// nodeUser is the first part of the name of a kubelet's user. The name of the node follows.
const nodeUser = "system:node:"

// Node returns the name of the machine's node in the cluster. It is empty if the kubelet has no certificate that an
// authority of the machine has signed. Whether the certificate has expired does not matter.
func (m Membership) Node() string {
	if m.Kubelet == nil {
		return ""
	}
	for _, ca := range m.CA {
		if m.Kubelet.CheckSignatureFrom(ca) == nil {
			name, _ := strings.CutPrefix(m.Kubelet.Subject.CommonName, nodeUser)
			return name
		}
	}
	return ""
}

// Member asks a machine about its cluster. It changes nothing.
func Member(ctx context.Context, sh Shell) (Membership, error) {
	out, err := run(ctx, sh, shortLimit, memberScript)
	if err != nil {
		return Membership{}, fmt.Errorf("read the cluster of the machine: %w", err)
	}
	return parseMember(out), nil
}

// parseMember ignores lines of another form, and certificates that cannot be parsed.
func parseMember(text string) (m Membership) {
	for line := range strings.Lines(text) {
		kind, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		raw, err := base64.StdEncoding.DecodeString(value)
		switch {
		case err != nil:
		case kind == "ca":
			m.CA = Certificates(raw)
		case kind == "kubelet":
			if all := Certificates(raw); len(all) > 0 {
				m.Kubelet = all[0]
			}
		case kind == "control-plane":
			m.ControlPlane = true
		}
	}
	return m
}

// Certificates returns the certificates of a PEM text.
func Certificates(text []byte) (all []*x509.Certificate) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, c)
		}
	}
	return all
}
