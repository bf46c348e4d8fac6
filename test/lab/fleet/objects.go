package fleet

import (
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Names and labels of the lab's objects.
const (
	PodNamespace = "lab"
	SSHSecret    = "ssh-key" // is in the namespace of the hosts; the product uses this name by default

	labelHost      = "lab.bpa.akraino.org/host"
	labelNamespace = "lab.bpa.akraino.org/namespace"
	keyConfig      = "ssh-public-key"
	authorizedKeys = "authorized_keys"

	// osImage is the URL of the image that Metal3 would have installed. Nothing downloads the
	// image, but a host must have one, because Metal3 deprovisions a host without an image.
	osImage = "http://images.lab/debian-12.qcow2"
)

func makeNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// makePodNamespace returns the namespace of the machines' pods. It permits privileged pods.
func makePodNamespace() *corev1.Namespace {
	ns := makeNamespace(PodNamespace)
	ns.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "privileged", "pod-security.kubernetes.io/warn": "privileged"}
	return ns
}

func podName(namespace, host string) string { return namespace + "-" + host }

func keyConfigName(namespace string) string { return keyConfig + "-" + namespace }

// makePod returns the pod of a machine. The folders to which the machine writes most data are on an
// emptyDir and not in the container's file system. The latter is an overlay file system, on which
// containerd in the machine could not create overlay file systems for its own containers.
func makePod(f *Fleet, host string) *corev1.Pod {
	yes, no := true, false
	grace := int64(2)
	env := []corev1.EnvVar{{Name: "container", Value: "oci"}} // systemd reads it to detect a container
	if f.Reboots {
		env = append(env, corev1.EnvVar{Name: "LAB_REBOOTS", Value: "yes"}) // node-init reads it
	}
	disk := func(path string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: "disk", MountPath: "/var/" + path, SubPath: path}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: PodNamespace,
			Name:      podName(f.Namespace, host),
			Labels:    map[string]string{labelHost: host, labelNamespace: f.Namespace},
		},
		Spec: corev1.PodSpec{
			Hostname:                      host,
			AutomountServiceAccountToken:  &no, // a machine does not belong to the bootstrap cluster
			EnableServiceLinks:            &no,
			TerminationGracePeriodSeconds: &grace,
			DNSPolicy:                     corev1.DNSNone,
			DNSConfig:                     &corev1.PodDNSConfig{Nameservers: []string{f.Nameserver}},
			Containers: []corev1.Container{{
				Name:            "machine",
				Image:           f.Image,
				Env:             env,
				TTY:             true,
				SecurityContext: &corev1.SecurityContext{Privileged: &yes},
				// The pod is ready when sshd has answered once. sshd starts a process for each connection, so a probe for life would take a
				// good part of the processors.
				StartupProbe: &corev1.Probe{
					ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(22)}},
					PeriodSeconds:    1,
					FailureThreshold: 1800,
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "run", MountPath: "/run"}, {Name: "tmp", MountPath: "/tmp"}, {Name: "key", MountPath: "/etc/lab"},
					disk("lib/containerd"), disk("lib/kubelet"), disk("lib/etcd"), disk("log"),
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "disk", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "key", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: keyConfigName(f.Namespace)},
				}}},
			},
		},
	}
}

// makeHost returns the BareMetalHost that Metal3 would have for the machine after installing the
// operating system.
func makeHost(namespace string, s Shape, mac string) *metal3.BareMetalHost {
	return &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        s.Name,
			Labels:      map[string]string{labelHost: s.Name},
			Annotations: map[string]string{"lab.bpa.akraino.org/fiction": "CPU, memory and disks are invented; addresses are real"},
		},
		Spec: metal3.BareMetalHostSpec{Online: true, BootMACAddress: mac, Image: &metal3.Image{
			URL: osImage, Checksum: "http://images.lab/SHA256SUMS", ChecksumType: metal3.SHA256,
		}},
	}
}

func makeStatus(s Shape, hardware *metal3.HardwareDetails) metal3.BareMetalHostStatus {
	status := metal3.BareMetalHostStatus{
		OperationalStatus: metal3.OperationalStatusOK,
		PoweredOn:         true,
		HardwareDetails:   hardware,
		Provisioning: metal3.ProvisionStatus{
			State:    metal3.StateProvisioned,
			ID:       "lab-" + s.Name,
			BootMode: metal3.UEFI,
			Image:    metal3.Image{URL: osImage},
		},
	}
	if s.Broken {
		status.OperationalStatus = metal3.OperationalStatusError
		status.ErrorType = metal3.PowerManagementError
		status.ErrorMessage = "the lab pretends that this machine's power supply is broken"
		status.ErrorCount = 3
	}
	return status
}

func makeHardware(s Shape, mac, ip string) *metal3.HardwareDetails {
	return &metal3.HardwareDetails{
		SystemVendor: metal3.HardwareSystemVendor{Manufacturer: "BPA lab", ProductName: "systemd container", SerialNumber: s.Name},
		Firmware:     metal3.Firmware{BIOS: metal3.BIOS{Vendor: "BPA lab", Version: "1", Date: "01/01/2026"}},
		RAMMebibytes: s.RAMGiB * 1024,
		NIC:          []metal3.NIC{{Name: "eth0", Model: "0x1af4 0x0001", MAC: mac, IP: ip, SpeedGbps: 10, PXE: true}},
		Storage: []metal3.Storage{{
			Name: "/dev/sda", Type: metal3.SSD, SizeBytes: 480 * metal3.GigaByte, Model: "lab disk", SerialNumber: s.Name + "-sda",
		}},
		CPU: metal3.CPU{
			Arch: "x86_64", Model: "Lab CPU @ 2.60GHz", ClockMegahertz: 2600, Count: s.CPU, Flags: []string{"aes", "avx2", "sse4_2", "vmx"},
		},
		Hostname: s.Name,
	}
}

func makeHardwareData(namespace, host string, hardware *metal3.HardwareDetails) *metal3.HardwareData {
	return &metal3.HardwareData{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: host, Labels: map[string]string{labelHost: host}},
		Spec:       metal3.HardwareDataSpec{HardwareDetails: hardware},
	}
}
