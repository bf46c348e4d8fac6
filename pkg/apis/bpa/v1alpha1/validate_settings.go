package v1alpha1

import (
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"
)

var (
	versionPattern  = regexp.MustCompile(`^(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)
	userPattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// systemPattern is that of os-release's ID and VERSION_ID; it becomes a folder of the depot.
	systemPattern = regexp.MustCompile(`^[a-z][a-z0-9._]*(-[a-z0-9._]+)*-[0-9][a-z0-9.]*$`)
	pluginPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// takenUsers are names that Ansible reads in an inventory as values of Python instead of text.
var takenUsers = []string{"False", "None", "True"}

// networkPlugins are the values of kubespray's kube_network_plugin; the schema has the same list.
var networkPlugins = []string{"calico", "cilium", "cni", "custom_cni", "flannel", "kube-ovn", "kube-router", "macvlan", "none"}

func (k *KubernetesSpec) validate() (errs *apis.FieldError) {
	if k.Version != "" && !versionPattern.MatchString(k.Version) {
		errs = errs.Also(problem("version", "write all three numbers, such as "+DefaultKubernetesVersion, "%q is no Kubernetes version", k.Version))
	}
	if k.NetworkPlugin == "" {
		return errs
	}
	for _, known := range networkPlugins {
		if k.NetworkPlugin == known {
			return errs
		}
	}
	return errs.Also(problem("networkPlugin", "use one of "+strings.Join(networkPlugins, ", "), "%q is no network plugin of kubespray", k.NetworkPlugin))
}

func (s *SSHSpec) validate() (errs *apis.FieldError) {
	if s.User != "" && !userPattern.MatchString(s.User) {
		errs = errs.Also(problem("user", "use letters, digits, dots, dashes and underscores, at most 32, and begin with a letter or underscore", "%q is no user name", s.User))
	} else if slices.Contains(takenUsers, s.User) {
		errs = errs.Also(problem("user", "log in as another user", "user name %q means something else to Ansible", s.User))
	}
	if s.Port < 0 || s.Port > 65535 {
		errs = errs.Also(problem("port", "write a number from 1 to 65535, or leave it out for 22", "%d is no port", s.Port))
	}
	if s.SecretName != "" && len(validation.IsDNS1123Subdomain(s.SecretName)) > 0 {
		errs = errs.Also(problem("secretName", "write the name of a Secret of type kubernetes.io/ssh-auth in the same namespace", "%q is no name of a Secret", s.SecretName))
	}
	return errs
}

// Validate says what is wrong with the addresses and certificates; paths begin at the depot. The site's settings have the same rules.
func (d *DepotSpec) Validate() *apis.FieldError {
	return validateDepotURL("url", d.URL).Also(d.validateInsecure(), validateDepotURL("imageURL", d.ImageURL), d.validateCA(), d.validateChecksums())
}

// IsPlainHTTP reports whether what is read at the address can be changed on the way.
func IsPlainHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http"
}

// validateInsecure wants https, or a word that nobody writes by accident. imageURL may be plain HTTP: Metal3 compares the image with a digest.
func (d *DepotSpec) validateInsecure() *apis.FieldError {
	if d.Insecure || !IsPlainHTTP(d.URL) || validateDepotURL("url", d.URL) != nil {
		return nil // what is refused already is not quoted: it may hold a password
	}
	return problem("url", "write the depot's https address and, unless the nodes know who signs its certificate, caBundle; or accept that with insecure: true",
		"%q is plain HTTP: whoever is on the network between chooses what is installed on the nodes", d.URL)
}

func (d *DepotSpec) validateChecksums() *apis.FieldError {
	switch d.Checksums {
	case "", ChecksumsKubespray, ChecksumsDepot:
		return nil
	}
	return problem("checksums", "write Kubespray or Depot, or leave it out for Kubespray", "%q is nobody who knows checksums", d.Checksums)
}

// validateCA wants certificates and nothing else: what is written here goes to every node, and a private key must not.
func (d *DepotSpec) validateCA() *apis.FieldError {
	const advice = "write what the depot gives out at /ca.crt"
	rest := []byte(strings.TrimSpace(d.CABundle))
	switch {
	case len(rest) == 0:
		return nil
	case d.URL == "":
		return problem("caBundle", "write spec.depot.url as well, or take both from the site's settings", "a CA without the address of its depot")
	case strings.HasPrefix(d.URL, "http:"):
		return problem("caBundle", "use the depot's https address, or leave caBundle out", "%q has no certificate to check", d.URL)
	case len(rest) > maxCABundle:
		return problem("caBundle", advice, "%d bytes are more than %d", len(rest), maxCABundle)
	}
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return problem("caBundle", advice, "it holds something else than certificates in PEM")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return problem("caBundle", advice, "a certificate in it cannot be read: %v", err)
		}
	}
	return nil
}

// maxCABundle is room for some ten certificates. The bundle travels in a command line to each node.
const maxCABundle = 20 << 10

// validateDepotURL keeps the URL to what can stand in front of a path and in a configuration file: no password, no query, no quotes.
func validateDepotURL(field, text string) *apis.FieldError {
	if text == "" {
		return nil
	}
	const advice = "write the store's address as the nodes reach it, such as https://10.60.0.1:5443"
	for _, c := range text {
		if c > unicode.MaxASCII || !unicode.IsPrint(c) || strings.ContainsRune(" \"'`\\{}$;#<>|^", c) {
			return problem(field, advice, "%q holds %q, which no address of a store has", text, c)
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return problem(field, advice, "%q is no URL", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return problem(field, advice, "%q is neither http nor https", text)
	case u.User != nil:
		return problem(field, "take user and password out: nodes read the store without", "the URL holds credentials")
	case u.RawQuery != "" || u.ForceQuery:
		return problem(field, advice, "%q has a query", text)
	case strings.Contains(text, "@"):
		return problem(field, advice, "%q holds '@', which no address of a store has", text)
	}
	return nil
}

func validateSystem(text string) *apis.FieldError {
	if text == "" || systemPattern.MatchString(text) && len(text) <= 64 {
		return nil
	}
	return problem("operatingSystem", "write ID and VERSION_ID of the hosts' /etc/os-release with a dash between, such as ubuntu-24.04", "%q is no operating system with its version", text)
}

func (t *TimeoutsSpec) validate() *apis.FieldError {
	if t.Install != nil && t.Install.Duration <= 0 {
		return problem("install", "write how long one attempt may take, such as 2h", "%s is not positive", t.Install.Duration)
	}
	return nil
}

// validatePlugins checks the names only: which plugins there are is known when they are installed.
func validatePlugins(plugins []string) (errs *apis.FieldError) {
	seen := map[string]bool{}
	for i, name := range plugins {
		var err *apis.FieldError
		switch {
		case len(name) > validation.DNS1123LabelMaxLength || !pluginPattern.MatchString(name):
			err = problem(apis.CurrentField, "use lower case letters, digits and dashes, and begin with a letter", "%q is no name of a plugin", name)
		case seen[name]:
			err = problem(apis.CurrentField, "name each plugin once", "%q is named twice", name)
		}
		seen[name] = true
		errs = errs.Also(err.ViaFieldIndex("KUDPlugins", i))
	}
	if len(plugins) > 0 {
		errs = errs.Also(warning("KUDPlugins", "plugins are not installed by this version of BPA; the condition PluginsInstalled says so too"))
	}
	return errs
}
