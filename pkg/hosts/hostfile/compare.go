package hostfile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Site is what the site has.
type Site struct {
	Hosts   []metal3.BareMetalHost    // of all namespaces that the user may read
	Secrets map[string]*corev1.Secret // of the namespace of the import, by name; those that the rows make are enough
}

// Host returns a host; nil: there is none.
func (s Site) Host(namespace, name string) *metal3.BareMetalHost {
	for i := range s.Hosts {
		if s.Hosts[i].Namespace == namespace && s.Hosts[i].Name == name {
			return &s.Hosts[i]
		}
	}
	return nil
}

// Change is what an import does with the objects of a row.
type Change struct {
	Objects                       // as they will be
	Stored  *metal3.BareMetalHost // nil: the host is created
	// Write are the Secrets that are created or that get other data, in the order in which they are written.
	Write []*corev1.Secret
	// Updated are the fields of a stored host that change, without their values.
	Updated []string
	// Kept are the differences that stay, each with the reason.
	Kept []string

	updateHost bool
}

// HostChanges reports whether the host is written.
func (c Change) HostChanges() bool { return c.Stored == nil || c.updateHost }

// Compare returns what an import of the row changes. What a file leaves out stays, but labels that an earlier import has set and
// that the row does not have any more are removed.
func Compare(o Objects, site Site) Change {
	c := Change{Objects: o, Stored: site.Host(o.Host.Namespace, o.Host.Name)}
	c.compareSecret(site, o.Login, "", "credentials")
	c.compareSecret(site, o.Network, c.osInstalled(), pathNetwork)
	c.compareSecret(site, o.Ramdisk, c.inUse(), pathRamdisk)
	if c.Stored == nil {
		c.Updated = nil
		return c
	}
	merged := c.Stored.DeepCopy()
	for _, f := range hostFields {
		if f.same(&o.Host.Spec, &merged.Spec) {
			continue
		}
		if why := f.keep(c); why != "" {
			c.Kept = append(c.Kept, fmt.Sprintf("%s stays: %s", f.path, why))
			continue
		}
		f.set(&merged.Spec, &o.Host.Spec)
		c.update(f.path)
	}
	if online := o.Row.Online; online != nil && *online != merged.Spec.Online {
		c.Kept = append(c.Kept, pathOnline+" stays: "+c.never())
	}
	c.labels(merged)
	c.Host = merged
	return c
}

// update notes that a field of the host changes.
func (c *Change) update(what string) {
	c.updateHost = true
	c.note(what)
}

// note adds a field to those that change. Network data can change in the Secret and in the host.
func (c *Change) note(what string) {
	if !slices.Contains(c.Updated, what) {
		c.Updated = append(c.Updated, what)
	}
}

// compareSecret decides about a Secret. keep is the reason why data that differ stay; empty: they do not.
func (c *Change) compareSecret(site Site, wanted *corev1.Secret, keep, what string) {
	if wanted == nil {
		return
	}
	stored := site.Secrets[wanted.Name]
	switch {
	case stored == nil:
	case reflect.DeepEqual(stored.Data, wanted.Data):
		return
	case keep != "":
		c.Kept = append(c.Kept, fmt.Sprintf("%s stays: %s", what, keep))
		return
	}
	c.Write = append(c.Write, wanted)
	c.note(what)
}

// labels sets the labels of the row, and removes those of an earlier import.
func (c *Change) labels(merged *metal3.BareMetalHost) {
	text := c.Stored.Annotations[contract.AnnotationImportedLabels]
	before := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	merged.Labels, merged.Annotations = ensured(merged.Labels), ensured(merged.Annotations)
	own := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Row.Labels)) {
		value := c.Row.Labels[name]
		stored, has := c.Stored.Labels[name]
		mine := !has || slices.Contains(before, name)
		switch {
		case !mine && stored != value:
			c.Kept = append(c.Kept, fmt.Sprintf("label %s stays %s: no import has set it. Remove it from the host first", name, shown(stored)))
		case mine:
			own[name] = value
			if !has || stored != value {
				merged.Labels[name] = value
				c.update("label " + name)
			}
		}
	}
	for _, name := range before {
		_, has := merged.Labels[name]
		if _, wanted := c.Row.Labels[name]; has && !wanted {
			delete(merged.Labels, name)
			c.update("label " + name)
		}
	}
	if now := labelNames(own); now != text {
		merged.Annotations[contract.AnnotationImportedLabels], c.updateHost = now, true
	}
}

func ensured(all map[string]string) map[string]string {
	if all == nil {
		return map[string]string{}
	}
	return all
}

// foreign returns the rows whose host or Secret belongs to something else.
func foreign(rows []*Row, namespace string, site Site) (findings []Finding) {
	for _, r := range rows {
		if r.Name == "" {
			continue
		}
		host := site.Host(namespace, r.Name)
		switch {
		case host == nil:
		case !host.DeletionTimestamp.IsZero():
			findings = append(findings, r.finding(pathName, "this host is being deleted", "wait until it is gone"))
		case another(r, host):
			findings = append(findings, r.finding(pathName, "the host of this name has another BMC and another boot MAC address", "use another name, or delete the host if the server is gone"))
		}
		for _, wanted := range Render(r, namespace).Secrets() {
			stored := site.Secrets[wanted.Name]
			if stored != nil && stored.Annotations[contract.AnnotationImportedHost] != r.Name && !refers(host, wanted.Name) {
				findings = append(findings, r.finding(pathName, "there is a Secret "+wanted.Name+" that no import has made", "delete it if nothing needs it, or use another name"))
			}
		}
	}
	return findings
}

// another reports whether the host is surely another server than the row.
func another(r *Row, host *metal3.BareMetalHost) bool {
	a, okA := endpointOf(r.Address)
	b, okB := endpointOf(host.Spec.BMC.Address)
	macA, macB := newMAC(r.BootMAC, place{}), newMAC(host.Spec.BootMACAddress, place{})
	return okA && okB && !a.same(b) && macA.ok && macB.ok && macA.text != macB.text
}

// refers reports whether a host has a Secret.
func refers(host *metal3.BareMetalHost, secret string) bool {
	if host == nil {
		return false
	}
	s := host.Spec
	return s.BMC.CredentialsName == secret || s.PreprovisioningNetworkDataName == secret || s.NetworkData != nil && s.NetworkData.Name == secret
}
