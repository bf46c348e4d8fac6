package docs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

const image = "http://site/os.qcow2"

// described returns the hosts of a block. me is the name of the Provisioning under test, for which
// hosts can be installed. Each line is a host name and properties with commas between them, such as
//
//	host-1   16 CPUs, 64Gi, label rack=r1, 2 NVMe 960G, card 10.0.0.1, held by edge-2
//
// described builds Metal3 objects and converts them with package facts, as BPA does.
func described(t *testing.T, f fence, me string) []hosts.Host {
	t.Helper()
	var all []hosts.Host
	for n, line := range strings.Split(strings.TrimSpace(f.text), "\n") {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		m := machine{
			n: n + 1, me: me, data: &metal3.HardwareDetails{},
			host: &metal3.BareMetalHost{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "site", UID: "u", Labels: map[string]string{}, Annotations: map[string]string{}},
				Spec:       metal3.BareMetalHostSpec{Image: &metal3.Image{URL: image}},
				Status: metal3.BareMetalHostStatus{
					PoweredOn: true, OperationalStatus: metal3.OperationalStatusOK,
					Provisioning: metal3.ProvisionStatus{State: metal3.StateProvisioned, Image: metal3.Image{URL: image}},
				},
			},
		}
		for property := range strings.SplitSeq(rest, ",") {
			if err := m.add(strings.TrimSpace(property)); err != nil {
				t.Fatalf("%s:%d: %s: %v", f.page, f.line+n, name, err)
			}
		}
		all = append(all, m.facts())
	}
	return all
}

// machine collects the properties of a host.
type machine struct {
	n         int    // number of the host in its block, from 1
	me        string // name of the Provisioning under test
	host      *metal3.BareMetalHost
	data      *metal3.HardwareDetails
	installed bool
}

func (m *machine) facts() hosts.Host {
	if m.data.NIC == nil {
		m.card(fmt.Sprintf("10.0.0.%d", m.n))
	}
	h := facts.Of(m.host, &metal3.HardwareData{Spec: metal3.HardwareDataSpec{HardwareDetails: m.data}})
	h.Installed = m.installed
	return h
}

// card adds a network card. The words that begin with 0x are its model; the other words are its
// addresses. Each address becomes a separate NIC with the same MAC address. card returns the first
// of these NICs.
func (m *machine) card(words ...string) *metal3.NIC {
	i := len(m.data.NIC)
	nic := metal3.NIC{Name: fmt.Sprintf("eth%d", i), MAC: fmt.Sprintf("02:00:00:00:%02x:%02x", i, m.n)}
	var ids []string
	for _, word := range words {
		if strings.HasPrefix(word, "0x") {
			ids = append(ids, word)
		}
	}
	nic.Model = strings.Join(ids, " ")
	for _, word := range words {
		if !strings.HasPrefix(word, "0x") {
			nic.IP = word
			m.data.NIC = append(m.data.NIC, nic)
		}
	}
	if nic.IP == "" {
		m.data.NIC = append(m.data.NIC, nic)
	}
	return &m.data.NIC[i]
}

// add adds a property to the host.
func (m *machine) add(property string) error {
	fields := strings.Fields(property)
	number := 0
	if len(fields) > 1 {
		if n, err := strconv.Atoi(fields[0]); err == nil {
			number, fields = n, fields[1:]
		}
	}
	switch last := fields[len(fields)-1]; {
	case fields[0] == "CPUs" || fields[0] == "CPU":
		m.data.CPU.Count = number
	case len(fields) == 1 && strings.HasSuffix(last, "Gi"):
		n, err := strconv.Atoi(strings.TrimSuffix(last, "Gi"))
		m.data.RAMMebibytes = n << 10
		return err
	case fields[0] == "NVMe" || fields[0] == "SSD" || fields[0] == "HDD":
		return m.disks(max(1, number), fields)
	case fields[0] == "card":
		m.card(fields[1:]...)
	case fields[0] == "boot":
		m.host.Spec.BootMACAddress = m.card(fields[2:]...).MAC
	case fields[0] == "flags":
		m.data.CPU.Flags = fields[1:]
	case fields[0] == "label":
		key, value, _ := strings.Cut(last, "=")
		m.host.Labels[key] = value
	case m.setState(property, last):
	default:
		return fmt.Errorf("unknown property %q", property)
	}
	return nil
}

func (m *machine) disks(count int, fields []string) error {
	size, err := strconv.Atoi(strings.TrimSuffix(fields[1], "G"))
	for range count {
		kind := metal3.DiskType(strings.ToUpper(fields[0]))
		m.data.Storage = append(m.data.Storage, metal3.Storage{Type: kind, SizeBytes: metal3.Capacity(size) * metal3.GigaByte})
	}
	return err
}

// setState sets a state of the host, such as "paused" or "held by edge-2". last is the last word of
// the property. setState returns false if the property is not a state.
func (m *machine) setState(property, last string) bool {
	switch {
	case property == "available":
		m.host.Spec.Image, m.host.Status.Provisioning = nil, metal3.ProvisionStatus{State: metal3.StateAvailable}
	case property == "in error":
		m.host.Status.ErrorType, m.host.Status.ErrorMessage = metal3.PowerManagementError, "no power"
	case property == "powered off":
		m.host.Status.PoweredOn = false
	case property == "in service":
		m.host.Status.OperationalStatus = metal3.OperationalStatusServicing
	case property == "paused":
		m.host.Annotations[metal3.PausedAnnotation] = ""
	case strings.HasPrefix(property, "in quarantine"):
		m.host.Annotations[contract.AnnotationQuarantine] = last
	case strings.HasPrefix(property, "held by "):
		m.hold(last, "")
	case strings.HasPrefix(property, "used by "):
		m.host.Annotations[contract.AnnotationUsedBy] = contract.User{Namespace: "site", Name: last, UID: "of " + last}.String()
	case strings.HasPrefix(property, "installed as "):
		m.hold(m.me, last)
		m.installed = true
	case strings.HasPrefix(property, "standby as "):
		m.hold(m.me, last)
		m.host.Labels[contract.LabelStandby] = "true"
	default:
		return false
	}
	return true
}

// hold claims the host for a Provisioning, as package claim does. The text before the last dash of
// the node name is the node set.
func (m *machine) hold(by, node string) {
	m.host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: hosts.Group + "/v1alpha1", Kind: hosts.Kind, Namespace: "site", Name: by}
	m.host.Labels[contract.LabelCluster], m.host.Labels[contract.LabelNode] = by, node
	if dash := strings.LastIndex(node, "-"); dash > 0 {
		m.host.Labels[contract.LabelSet] = node[:dash]
	}
}
