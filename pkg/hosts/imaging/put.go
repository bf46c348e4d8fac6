package imaging

import (
	"encoding/json"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// before has the values that the spec of a host had before Put. Of the references to Secrets, it
// has only those that Put replaced.
type before struct {
	Online      bool                    `json:"online"`
	UserData    *corev1.SecretReference `json:"userData,omitempty"`
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`
	MetaData    *corev1.SecretReference `json:"metaData,omitempty"`
	Set         []string                `json:"set,omitempty"` // names of the references that Put replaced
}

// Ours reports whether Put has requested the operating system of the host.
func Ours(host *metal3.BareMetalHost) bool {
	_, ours := host.Annotations[contract.AnnotationOSImage]
	return ours
}

// Put asks Metal3 to install the image on a host and to start the host. It does not change a host
// that already has an image, also one that a user has set, because Metal3 would then erase the host.
//
// Put also removes the mark contract.AnnotationUsedBy, because the image overwrites the cluster that
// the mark is about.
func Put(host *metal3.BareMetalHost, image contract.OSImage, node string) {
	if host.Spec.Image != nil || host.Spec.CustomDeploy != nil {
		return
	}
	was := before{Online: host.Spec.Online}
	for _, f := range []struct {
		name, secret string
		field, was   **corev1.SecretReference
	}{
		{"userData", image.UserData, &host.Spec.UserData, &was.UserData},
		{"networkData", image.NetworkData, &host.Spec.NetworkData, &was.NetworkData},
		{"metaData", image.MetaData, &host.Spec.MetaData, &was.MetaData},
	} {
		if f.secret == "" {
			continue
		}
		*f.was = *f.field
		*f.field = &corev1.SecretReference{Name: Expand(f.secret, host.Name, node), Namespace: host.Namespace}
		was.Set = append(was.Set, f.name)
	}
	host.Spec.Image = &metal3.Image{URL: image.URL, Checksum: image.Checksum, ChecksumType: metal3.ChecksumType(image.ChecksumType)}
	if image.Format != "" {
		host.Spec.Image.DiskFormat = &image.Format
	}
	host.Spec.Online = true
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	recorded, _ := json.Marshal(was) // cannot fail: plain fields
	delete(host.Annotations, contract.AnnotationUsedBy)
	host.Annotations[contract.AnnotationOSImage] = image.URL
	host.Annotations[contract.AnnotationOSImageBefore] = string(recorded)
}

// TakeAway reverts the changes of Put, so that Metal3 deprovisions the host. It does not restore the
// mark of an earlier cluster: a host without an operating system is used only after another image.
// It does not change a host whose operating system Put has not requested. If a user has set another
// image since, that image and all other fields belong to the user: only the record of Put is
// removed.
func TakeAway(host *metal3.BareMetalHost) {
	if !Ours(host) {
		return
	}
	if theirs := host.Spec.Image; theirs != nil && theirs.URL != host.Annotations[contract.AnnotationOSImage] {
		Disown(host)
		return
	}
	var was before
	// If a user has damaged the annotation, nothing is restored. The references then stay, because
	// a user may have set them.
	if err := json.Unmarshal([]byte(host.Annotations[contract.AnnotationOSImageBefore]), &was); err == nil {
		host.Spec.Online = was.Online
	}
	for name, f := range map[string][2]**corev1.SecretReference{
		"userData":    {&host.Spec.UserData, &was.UserData},
		"networkData": {&host.Spec.NetworkData, &was.NetworkData},
		"metaData":    {&host.Spec.MetaData, &was.MetaData},
	} {
		if slices.Contains(was.Set, name) {
			*f[0] = *f[1]
		}
	}
	host.Spec.Image = nil
	Disown(host)
}

// Disown removes the record of Put and leaves the image. From then on, the operating system of the
// host belongs to its user, and no release removes it.
func Disown(host *metal3.BareMetalHost) {
	delete(host.Annotations, contract.AnnotationOSImage)
	delete(host.Annotations, contract.AnnotationOSImageBefore)
}

// Secrets returns the names of the Secrets that Put sets in a host together with the image.
func Secrets(image contract.OSImage, host, node string) []string {
	var names []string
	for _, name := range []string{image.UserData, image.NetworkData, image.MetaData} {
		if name != "" {
			names = append(names, Expand(name, host, node))
		}
	}
	return names
}

// Expand replaces $(host) and $(node) in the name of a Secret.
func Expand(name, host, node string) string {
	return strings.NewReplacer("$(host)", host, "$(node)", node).Replace(name)
}
