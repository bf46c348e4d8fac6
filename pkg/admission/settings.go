package admission

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

var (
	versionPattern  = upgrade.Version
	userPattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// systemPattern matches ID-VERSION_ID of os-release(5). The string is the name of a directory
	// in the depot, so it must not contain a slash.
	systemPattern = regexp.MustCompile(`^[a-z][a-z0-9._]*(-[a-z0-9._]+)*-[0-9][a-z0-9.]*$`)
	pluginPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// takenUsers must not be login users: Ansible would read them in an inventory as Python values
// instead of strings.
var takenUsers = []string{"False", "None", "True"}

// networkPlugins are the values of kubespray's kube_network_plugin. The schema has the same list.
var networkPlugins = []string{"calico", "cilium", "cni", "custom_cni", "flannel", "kube-ovn", "kube-router", "macvlan", "none"}

func validateKubernetes(k *v1alpha1.KubernetesSpec) (errs *apis.FieldError) {
	if k.Version != "" && !versionPattern.MatchString(k.Version) {
		errs = errs.Also(problem("version", "write all three numbers, such as "+v1alpha1.DefaultKubernetesVersion, "%q is not a Kubernetes version", k.Version))
	}
	if k.NetworkPlugin == "" {
		return errs
	}
	for _, known := range networkPlugins {
		if k.NetworkPlugin == known {
			return errs
		}
	}
	return errs.Also(problem("networkPlugin", "use one of "+strings.Join(networkPlugins, ", "), "%q is not a network plugin of kubespray", k.NetworkPlugin))
}

func validateSSH(s *v1alpha1.SSHSpec) (errs *apis.FieldError) {
	if s.User != "" && !userPattern.MatchString(s.User) {
		errs = errs.Also(problem("user", "use at most 32 letters, digits, dots, dashes and underscores; begin with a letter or underscore", "%q is not a valid user name", s.User))
	} else if slices.Contains(takenUsers, s.User) {
		errs = errs.Also(problem("user", "log in as another user", "user name %q has a special meaning in Ansible inventories", s.User))
	}
	if s.Port < 0 || s.Port > 65535 {
		errs = errs.Also(problem("port", "write a number from 1 to 65535; the default is 22", "%d is not a port number", s.Port))
	}
	if s.SecretName != "" && len(validation.IsDNS1123Subdomain(s.SecretName)) > 0 {
		errs = errs.Also(problem("secretName", "write the name of a Secret of type kubernetes.io/ssh-auth in the same namespace", "%q is not a valid Secret name", s.SecretName))
	}
	return errs
}

// CheckDepot checks the addresses and certificates. The paths in its errors are relative to the
// depot. The site's settings are checked with the same function.
func CheckDepot(d *v1alpha1.DepotSpec) *apis.FieldError {
	return validateDepotURL("url", d.URL).Also(validateDepotInsecure(d), validateDepotURL("imageURL", d.ImageURL), validateDepotCA(d), validateDepotChecksums(d))
}

// validateDepotInsecure rejects a plain HTTP url unless the user has set insecure. imageURL may be plain
// HTTP, because Metal3 compares the image with a digest.
func validateDepotInsecure(d *v1alpha1.DepotSpec) *apis.FieldError {
	if d.Insecure || !v1alpha1.IsPlainHTTP(d.URL) || validateDepotURL("url", d.URL) != nil {
		return nil // validateDepotURL reports an invalid URL; the URL must not be quoted here, because it may contain a password
	}
	return problem("url", "write the depot's https address, and caBundle if the nodes do not trust its certificate; to accept plain HTTP, set insecure: true",
		"%q is plain HTTP: anyone on the network path can change what is installed on the nodes", d.URL)
}

func validateDepotChecksums(d *v1alpha1.DepotSpec) *apis.FieldError {
	switch d.Checksums {
	case "", v1alpha1.ChecksumsKubespray, v1alpha1.ChecksumsDepot:
		return nil
	}
	return problem("checksums", "use Kubespray or Depot; the default is Kubespray", "%q is not a checksum source", d.Checksums)
}

// validateDepotCA requires that the bundle contains only certificates: BPA copies it to every node, and
// a private key must not get there.
func validateDepotCA(d *v1alpha1.DepotSpec) *apis.FieldError {
	const advice = "write the certificate that the depot serves at /ca.crt"
	rest := []byte(strings.TrimSpace(d.CABundle))
	switch {
	case len(rest) == 0:
		return nil
	case d.URL == "":
		return problem("caBundle", "set spec.depot.url as well, or leave both out to use the site's settings", "caBundle is set without the address of its depot")
	case strings.HasPrefix(d.URL, "http:"):
		return problem("caBundle", "use the depot's https address, or leave caBundle out", "%q has no certificate to check", d.URL)
	case len(rest) > maxCABundle:
		return problem("caBundle", advice, "the bundle has %d bytes, more than the limit of %d", len(rest), maxCABundle)
	}
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return problem("caBundle", advice, "the bundle contains something other than PEM certificates")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return problem("caBundle", advice, "a certificate cannot be read: %v", err)
		}
	}
	return nil
}

// maxCABundle, in bytes, has room for about ten certificates. The bundle is part of a command line
// on each node.
const maxCABundle = 20 << 10

// validateDepotURL requires a URL to which a path can be appended and which can be written into
// configuration files. The URL must therefore have no password, no query and no quotes.
func validateDepotURL(field, text string) *apis.FieldError {
	if text == "" {
		return nil
	}
	const advice = "write the depot's address at which the nodes reach it, such as https://10.60.0.1:5443"
	for _, c := range text {
		if c > unicode.MaxASCII || !unicode.IsPrint(c) || strings.ContainsRune(" \"'`\\{}$;#<>|^", c) {
			return problem(field, advice, "%q contains %q, which is not allowed in the address of a depot", text, c)
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return problem(field, advice, "%q is not a URL", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return problem(field, advice, "%q is neither http nor https", text)
	case u.User != nil:
		return problem(field, "remove user and password: the nodes read from the depot without credentials", "the URL contains credentials")
	case u.RawQuery != "" || u.ForceQuery:
		return problem(field, advice, "%q has a query", text)
	case strings.Contains(text, "@"):
		return problem(field, advice, "%q contains '@', which is not allowed in the address of a depot", text)
	}
	return nil
}

func validateSystem(text string) *apis.FieldError {
	if text == "" || systemPattern.MatchString(text) && len(text) <= 64 {
		return nil
	}
	return problem("operatingSystem", "write ID-VERSION_ID from the hosts' /etc/os-release, such as ubuntu-24.04", "%q is not an operating system with a version", text)
}

func validateTimeouts(t *v1alpha1.TimeoutsSpec) (errs *apis.FieldError) {
	if t.Install != nil && t.Install.Duration <= 0 {
		errs = problem("install", "write how long one attempt may take, such as 2h", "%s is not positive", t.Install.Duration)
	}
	return errs.Also(validateDrain("drain", t.Drain))
}

// mostPriority limits the priority in both directions. The schema has the same limits.
const mostPriority = 1000

func validateReplacing(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	switch s.ReplacePolicy {
	case "", v1alpha1.ReplaceStandby, v1alpha1.ReplaceAny, v1alpha1.ReplaceNever:
	default:
		errs = problem("replacePolicy", "use Standby, Any or Never; the default is Standby", "%q is not a replacement policy", s.ReplacePolicy)
	}
	if s.Priority < -mostPriority || s.Priority > mostPriority {
		errs = errs.Also(problem("priority", fmt.Sprintf("write a number from -%[1]d to %[1]d; the default is 0", mostPriority), "%d is not a priority", s.Priority))
	}
	return errs
}

func validateUpgrade(u *v1alpha1.UpgradeSpec) (errs *apis.FieldError) {
	_, isPercentage := u.Percent()
	const advice = "write how many workers are upgraded at the same time, such as 2, or a percentage of the workers from 1% to 100%, such as 10%; the default is 1"
	switch m := u.MaxUnavailable; {
	case m == nil:
	case m.Type == intstr.Int && m.IntVal < 1:
		errs = problem("maxUnavailable", advice, "%d is not a positive number", m.IntVal)
	case m.Type == intstr.String && !isPercentage:
		errs = problem("maxUnavailable", advice, "%q is neither a number nor a percentage from 1%% to 100%%", m.StrVal)
	}
	return errs.Also(validateDrain("drainTimeout", u.DrainTimeout))
}

// validateDrain refuses a time limit below a second: tasks count it in seconds, and with 0 they do not
// drain.
func validateDrain(path string, limit *metav1.Duration) *apis.FieldError {
	if limit == nil || limit.Duration >= time.Second {
		return nil
	}
	return problem(path, "write how long the pods of one node may take to leave it, such as 10m", "%s is shorter than 1s", limit.Duration)
}
