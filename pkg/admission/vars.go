package admission

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// ownVariables are variables that users must not set, because BPA or Ansible sets them. The value
// tells the user what to set instead, or why the variable cannot be set.
var ownVariables = map[string]string{
	"kube_version":           "set spec.kubernetes.version",
	"kube_network_plugin":    "set spec.kubernetes.networkPlugin",
	"kube_pods_subnet":       "set spec.PodSubnet",
	"kube_service_addresses": "set spec.kubernetes.serviceSubnet",
	"cluster_name":           "it is the cluster's DNS domain; set dns_domain",
	"kube_override_hostname": "the spec sets the names of the nodes",
	"kubeconfig_localhost":   "the kubeconfig is in the Secret <name>-kubeconfig",
	"ip":                     "it differs from host to host; BPA reads it from the BareMetalHost",
	"access_ip":              "it differs from host to host; BPA reads it from the BareMetalHost",
	"etcd_member_name":       "it differs from host to host",

	"inventory_dir":       "Ansible reserves it",
	"inventory_file":      "Ansible reserves it",
	"inventory_hostname":  "Ansible reserves it",
	"playbook_dir":        "Ansible reserves it",
	"groups":              "Ansible reserves it",
	"group_names":         "Ansible reserves it",
	"hostvars":            "Ansible reserves it",
	"omit":                "Ansible reserves it",
	"vars":                "Ansible reserves it",
	"environment":         "Ansible reserves it",
	"play_hosts":          "Ansible reserves it",
	"role_path":           "Ansible reserves it",
	"ansible_become_pass": "a Provisioning holds no secrets; the user in spec.ssh must be able to sudo without a password",
}

// connection are the prefixes of the variables that configure Ansible's connection to the hosts.
// Users must not set these variables.
var connection = []string{"ansible_ssh_", "ansible_host", "ansible_port", "ansible_user", "ansible_password", "ansible_connection",
	"ansible_remote_", "ansible_private_key", "ansible_paramiko", "ansible_become_password", "ansible_shell", "ansible_scp", "ansible_sftp"}

// maxRelease is the maximum length of a release's name. The name of a Task contains the name of the
// release. The name of the Task, and the names that are derived from it, must not exceed 63
// characters.
const maxRelease = 40

// validateKubespray checks the names of the variables. Their values are not checked, but for that of container_manager.
func validateKubespray(k *v1alpha1.KubespraySpec) (errs *apis.FieldError) {
	if k.Release != "" && (len(k.Release) > maxRelease || len(validation.IsDNS1123Subdomain(k.Release)) > 0) {
		errs = errs.Also(problem("release", "write the part after kubespray- in the name of the release's Task (kubectl get tasks -n bpa-system), such as v2.31.0",
			"%q is not a release name", k.Release))
	}
	for _, name := range slices.Sorted(maps.Keys(k.Vars)) {
		if !variablePattern.MatchString(name) {
			errs = errs.Also(problem("vars", "use letters, digits and underscores, and begin with a letter or underscore", "%q is not a variable name", name))
		} else if why := ownVariable(name); why != "" {
			errs = errs.Also(problem("vars."+name, why, "%s cannot be set here", name))
		}
	}
	errs = errs.Also(validateContainerManager(k.Vars)).Also(validateRegistryAuth(k))
	return errs.Also(validateVarsFrom(k))
}

// registryAuth is a variable that kubespray v2.31.0 writes only into the configuration of containerd 1: see its
// templates config-v1.toml.j2 and config.toml.j2. With containerd 2 it ignores it without a message.
const registryAuth = "containerd_registry_auth"

func validateRegistryAuth(k *v1alpha1.KubespraySpec) *apis.FieldError {
	path := "vars." + registryAuth
	if _, set := k.Vars[registryAuth]; !set {
		at := slices.IndexFunc(k.VarsFrom, func(from v1alpha1.VarsSource) bool { return from.Variable == registryAuth })
		if path = fmt.Sprintf("varsFrom[%d].variable", at); at < 0 {
			return nil
		}
	}
	if bytes.HasPrefix(k.Vars["containerd_version"].Raw, []byte(`"1.`)) {
		return nil
	}
	return problem(path, "write an Authorization header in containerd_registries_mirrors, as the recipe in docs/day-one.md does",
		"kubespray ignores %s with containerd 2, so nodes would pull without credentials", registryAuth)
}

// validateContainerManager refuses the other container runtimes of kubespray. They would pull from the Internet and not
// from the depot, whose mirrors and certificate BPA configures in containerd only, and a restore calls containerd.
func validateContainerManager(vars map[string]apiextensionsv1.JSON) *apis.FieldError {
	raw, set := vars["container_manager"]
	if !set || string(raw.Raw) == `"containerd"` {
		return nil
	}
	return problem("vars.container_manager", "leave it out: the only container runtime is containerd, because BPA configures the depot's mirrors and certificate in it",
		"%s is no container runtime of BPA", raw.Raw)
}

// validateVarsFrom checks the entries of varsFrom. Whether the Secrets exist, and which variables they have, only the
// controller can say.
func validateVarsFrom(k *v1alpha1.KubespraySpec) (errs *apis.FieldError) {
	seen := map[string]int{}
	for i, from := range k.VarsFrom {
		at := func(field string) string { return fmt.Sprintf("varsFrom[%d].%s", i, field) }
		if name := from.SecretRef.Name; len(validation.IsDNS1123Subdomain(name)) > 0 {
			errs = errs.Also(problem(at("secretRef.name"), "write the name of a Secret in the namespace of the Provisioning", "%q is not the name of a Secret", name))
		}
		if key := from.SecretRef.Key; key != "" && len(validation.IsConfigMapKey(key)) > 0 {
			errs = errs.Also(problem(at("secretRef.key"), "write the key as `kubectl describe secret "+from.SecretRef.Name+"` shows it", "%q is not a key of a Secret", key))
		}
		what, once := from.Variable, "variable:"+from.Variable
		switch why := SecretVariable(from.Variable); {
		case from.Variable == "":
			what = "key " + from.SecretRef.KeyOf() + " of Secret " + from.SecretRef.Name
			once = "key:" + from.SecretRef.Name + "/" + from.SecretRef.KeyOf()
		case !variablePattern.MatchString(from.Variable):
			errs = errs.Also(problem(at("variable"), "use letters, digits and underscores, and begin with a letter or underscore", "%q is not a variable name", from.Variable))
		case why != "":
			errs = errs.Also(problem(at("variable"), why, "%s cannot be set from a Secret", from.Variable))
		case from.SecretRef.Key == "":
			errs = errs.Also(problem(at("secretRef.key"), "write the key of Secret "+from.SecretRef.Name+" that has the value, such as password", "the key with the value of %s is missing", from.Variable))
		}
		if _, plain := k.Vars[from.Variable]; plain {
			errs = errs.Also(problem(at("variable"), "remove it from vars, which would win", "%s is also in vars", from.Variable))
		}
		if other, twice := seen[once]; twice {
			errs = errs.Also(problem(fmt.Sprintf("varsFrom[%d]", i), "remove one of the two", "%s is already in varsFrom[%d]", what, other))
		}
		seen[once] = i
	}
	return errs
}

// readVariables are variables whose values BPA reads in spec.kubespray.vars. It cannot read them in a Secret. All
// that begin with loadbalancer_apiserver, and the checksums of files, are others.
var readVariables = []string{"kube_external_ca_mode", "containerd_registries_mirrors"}

// SecretVariable returns why a variable cannot have its value in a Secret, and what to do; empty: it can.
func SecretVariable(name string) string {
	if why := ownVariable(name); why != "" {
		return why
	}
	fixed := upgrade.Variable(name) != nil
	if fixed || slices.Contains(readVariables, name) || strings.HasPrefix(name, "loadbalancer_apiserver") || strings.HasSuffix(name, "_checksum") || strings.HasSuffix(name, "_checksums") {
		return "BPA must know its value: set it in spec.kubespray.vars"
	}
	return ""
}

func ownVariable(name string) string {
	if why, ok := ownVariables[name]; ok {
		return why
	}
	for _, prefix := range connection {
		if strings.HasPrefix(name, prefix) {
			return "BPA configures the connection: use spec.ssh, and the address in the BareMetalHost"
		}
	}
	return ""
}
