package v1alpha1

import (
	"cmp"
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
)

// The defaults of a Provisioning.
const (
	// DefaultKubernetesVersion is the default of spec.kubernetes.version. The depot is filled with
	// the artifacts of this version.
	DefaultKubernetesVersion = "1.35.4"
	// DefaultKubesprayRelease is the release that an empty spec.kubespray.release names: contract.DefaultRelease.
	DefaultKubesprayRelease = "v2.31.0"
	// DefaultPodSubnet and DefaultServiceSubnet are the defaults of kubespray.
	DefaultPodSubnet     = "10.233.64.0/18"
	DefaultServiceSubnet = "10.233.0.0/18"
	// DefaultServiceSubnets is the default of a cluster whose pods have both address families.
	DefaultServiceSubnets = DefaultServiceSubnet + ",fd85:ee78:d8a6:8607::1000/116"
	DefaultNetworkPlugin  = "flannel"
	DefaultSSHUser        = "root"
	DefaultSSHPort        = 22
	DefaultSSHSecret      = "ssh-key"
	// DefaultInstallTimeout is the time limit of one installation attempt.
	DefaultInstallTimeout = 2 * time.Hour
	// DefaultDrainTimeout is the time limit for the pods of one node to leave it.
	DefaultDrainTimeout = 10 * time.Minute
)

var _ apis.Defaultable = (*Provisioning)(nil)

// SetDefaults fills in missing fields, and converts values with several notations to one of them. A
// second call changes nothing. An update without a Kubernetes version keeps that of the stored object:
// the default of this build would upgrade an installed cluster.
//
// The webhook stores only fields that were missing. It keeps what the user has written, in its notation:
// a stored object is not normalized. See Normalized.
func (p *Provisioning) SetDefaults(ctx context.Context) {
	if _, ok := p.Labels[LabelCluster]; !ok && p.Name != "" {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[LabelCluster] = p.Name
	}
	p.restoreLostNames()
	if old, _ := apis.GetBaseline(ctx).(*Provisioning); old != nil {
		p.Spec.keepVersions(&old.Spec)
	}
	p.Spec.setDefaults()
	p.Spec.normalize()
}

// Normalized returns a copy in which values with several notations have one of them, and the items of lists have their
// defaults. Two specs that request the same are then equal. It does not fill in the other defaults, which the stored
// object has.
func (p *Provisioning) Normalized() *Provisioning {
	p = p.DeepCopy()
	p.Spec.normalize()
	return p
}

func (s *ProvisioningSpec) normalize() {
	s.setNodeDefaults()
	s.Kubernetes.Version = strings.TrimLeft(s.Kubernetes.Version, "v")
	s.Kubernetes.API = s.Kubernetes.API.normalized()
	s.Depot.URL, s.Depot.ImageURL = strings.TrimRight(s.Depot.URL, "/"), strings.TrimRight(s.Depot.ImageURL, "/")
	if s.Backup != nil {
		s.Backup.Schedule = strings.TrimSpace(s.Backup.Schedule)
	}
}

// keepVersions sets an empty Kubernetes version to that of the stored spec. It does the same with the
// kubespray release, unless the empty one is another name of the same release.
func (s *ProvisioningSpec) keepVersions(old *ProvisioningSpec) {
	orDefault(&s.Kubernetes.Version, old.Kubernetes.Version)
	if cmp.Or(s.Kubespray.Release, DefaultKubesprayRelease) != cmp.Or(old.Kubespray.Release, DefaultKubesprayRelease) {
		orDefault(&s.Kubespray.Release, old.Kubespray.Release)
	}
}

func (s *ProvisioningSpec) setDefaults() {
	orDefault(&s.PodSubnet, DefaultPodSubnet)
	orDefault(&s.Kubernetes.Version, DefaultKubernetesVersion)
	if strings.Contains(s.PodSubnet, ",") {
		orDefault(&s.Kubernetes.ServiceSubnet, DefaultServiceSubnets)
	}
	orDefault(&s.Kubernetes.ServiceSubnet, DefaultServiceSubnet)
	orDefault(&s.Kubernetes.NetworkPlugin, DefaultNetworkPlugin)
	orDefault(&s.DeletionPolicy, DeletionReset)
	orDefault(&s.ReplacePolicy, ReplaceStandby)
	orDefault(&s.SSH.User, DefaultSSHUser)
	orDefault(&s.SSH.Port, DefaultSSHPort)
	orDefault(&s.SSH.SecretName, DefaultSSHSecret)
	if s.Backup != nil {
		orDefault(&s.Backup.Keep, DefaultBackupsKept)
	}
	if s.Timeouts.Install == nil {
		s.Timeouts.Install = &metav1.Duration{Duration: DefaultInstallTimeout}
	}
	if s.Timeouts.Drain == nil {
		s.Timeouts.Drain = &metav1.Duration{Duration: DefaultDrainTimeout}
	}
}

func (s *ProvisioningSpec) setNodeDefaults() {
	for _, item := range s.Masters {
		for name, m := range item {
			m.HostRequirements.setDefaults()
			item[name] = m
		}
	}
	for _, item := range s.Workers {
		for name, w := range item {
			w.HostRequirements.setDefaults()
			item[name] = w
		}
	}
	for i := range s.NodeSets {
		s.NodeSets[i].setDefaults()
	}
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// InstallTimeout returns the time limit of one installation attempt: spec.timeouts.install, or the
// default if this field is missing or not positive.
func (t TimeoutsSpec) InstallTimeout() time.Duration {
	if t.Install != nil && t.Install.Duration > 0 {
		return t.Install.Duration
	}
	return DefaultInstallTimeout
}

// DrainTimeout returns the time limit for the pods of one node to leave it: spec.timeouts.drain, or
// the default if this field is missing or not positive.
func (t TimeoutsSpec) DrainTimeout() time.Duration {
	if t.Drain != nil && t.Drain.Duration > 0 {
		return t.Drain.Duration
	}
	return DefaultDrainTimeout
}

// Secret returns the name of the Secret with the SSH key that BPA uses to log in to the hosts:
// spec.ssh.secretName, or the default if that field is empty.
func (s SSHSpec) Secret() string { return cmp.Or(s.SecretName, DefaultSSHSecret) }
