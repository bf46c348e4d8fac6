package hostfile

import (
	"maps"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/networkdata"
)

// The names of Secrets are that of their host with one of these. ICN has the first two.
const (
	loginSuffix   = "-bmc-secret"
	networkSuffix = "-network-data"
	ramdiskSuffix = "-preprovisioning-network-data"
)

// The keys of the Secret with the login of a BMC.
const (
	keyUsername = "username"
	keyPassword = "password"
)

// Objects are those of a row.
type Objects struct {
	Row  *Row
	Host *metal3.BareMetalHost
	// Login is the Secret of the BMC. Network and Ramdisk are those with network data; nil: the row has none.
	Login, Network, Ramdisk *corev1.Secret
}

// Secrets returns the Secrets that are there.
func (o Objects) Secrets() []*corev1.Secret {
	return slices.DeleteFunc([]*corev1.Secret{o.Login, o.Network, o.Ramdisk}, func(s *corev1.Secret) bool { return s == nil })
}

// Render makes the objects of a row that Validate has accepted. The same row gives the same objects.
func Render(r *Row, namespace string) Objects {
	host := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: r.Name, Labels: maps.Clone(r.Labels),
			Annotations: map[string]string{contract.AnnotationImportedLabels: labelNames(r.Labels)},
		},
		Spec: metal3.BareMetalHostSpec{
			BMC:            metal3.BMCDetails{Address: r.Address, CredentialsName: r.Name + loginSuffix, DisableCertificateVerification: r.NoVerify},
			BootMACAddress: r.BootMAC, BootMode: r.BootMode, RootDeviceHints: r.RootDeviceHints.DeepCopy(),
			Online: r.Online == nil || *r.Online, ExternallyProvisioned: r.ExternallyProvisioned,
		},
	}
	o := Objects{Row: r, Host: host, Login: r.secret(namespace, loginSuffix, map[string][]byte{keyUsername: []byte(r.Username), keyPassword: []byte(r.Password)})}
	if r.NetworkData != nil {
		o.Network = r.secret(namespace, networkSuffix, map[string][]byte{networkdata.Key: r.NetworkData})
		host.Spec.NetworkData = &corev1.SecretReference{Name: o.Network.Name, Namespace: namespace}
	}
	if r.RamdiskNetworkData != nil {
		o.Ramdisk = r.secret(namespace, ramdiskSuffix, map[string][]byte{networkdata.Key: r.RamdiskNetworkData})
		host.Spec.PreprovisioningNetworkDataName = o.Ramdisk.Name
	}
	return o
}

func (r *Row) secret(namespace, suffix string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.Name + suffix, Annotations: map[string]string{contract.AnnotationImportedHost: r.Name}},
		Type:       corev1.SecretTypeOpaque, Data: data,
	}
}

// labelNames lists the names of labels, as AnnotationImportedLabels has them.
func labelNames(labels map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(labels)), ",")
}
