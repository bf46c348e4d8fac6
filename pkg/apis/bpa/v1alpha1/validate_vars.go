package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"
)

// ownVariables belong to BPA. The value says where the same thing can be set, or why it cannot.
var ownVariables = map[string]string{
	"kube_version":           "set spec.kubernetes.version",
	"kube_network_plugin":    "set spec.kubernetes.networkPlugin",
	"kube_pods_subnet":       "set spec.PodSubnet",
	"kube_service_addresses": "set spec.kubernetes.serviceSubnet",
	"cluster_name":           "it is the cluster's DNS domain; set dns_domain",
	"kube_override_hostname": "a node is named as in the spec",
	"kubeconfig_localhost":   "the kubeconfig is in the Secret <name>-kubeconfig",
	"ip":                     "an address belongs to one host; BPA takes it from the BareMetalHost",
	"access_ip":              "an address belongs to one host; BPA takes it from the BareMetalHost",
	"etcd_member_name":       "a member's name belongs to one host",

	"inventory_dir":       "Ansible keeps it for itself",
	"inventory_file":      "Ansible keeps it for itself",
	"inventory_hostname":  "Ansible keeps it for itself",
	"playbook_dir":        "Ansible keeps it for itself",
	"groups":              "Ansible keeps it for itself",
	"group_names":         "Ansible keeps it for itself",
	"hostvars":            "Ansible keeps it for itself",
	"omit":                "Ansible keeps it for itself",
	"vars":                "Ansible keeps it for itself",
	"environment":         "Ansible keeps it for itself",
	"play_hosts":          "Ansible keeps it for itself",
	"role_path":           "Ansible keeps it for itself",
	"ansible_become_pass": "a Provisioning holds no secrets; the user in spec.ssh must be able to sudo without a password",
}

// connection are the beginnings of Ansible's variables that say how a host is reached.
var connection = []string{"ansible_ssh_", "ansible_host", "ansible_port", "ansible_user", "ansible_password", "ansible_connection",
	"ansible_remote_", "ansible_private_key", "ansible_paramiko", "ansible_become_password", "ansible_shell", "ansible_scp", "ansible_sftp"}

// maxRelease keeps the name of the Task, and of what is named after it, within 63 characters.
const maxRelease = 40

// validate checks the names of the variables. Their values go through: they are the person's own.
func (k *KubespraySpec) validate() (errs *apis.FieldError) {
	if k.Release != "" && (len(k.Release) > maxRelease || len(validation.IsDNS1123Subdomain(k.Release)) > 0) {
		errs = errs.Also(problem("release", "write what follows kubespray- in the name of its Task (kubectl get tasks -n bpa-system), such as v2.31.0",
			"%q is not a release name", k.Release))
	}
	for _, name := range sortedKeys(k.Vars) {
		if !variablePattern.MatchString(name) {
			errs = errs.Also(problem("vars", "use letters, digits and underscores, and begin with a letter or underscore", "%q is no name of a variable", name))
		} else if why := ownVariable(name); why != "" {
			errs = errs.Also(problem("vars."+name, why, "%s cannot be set here", name))
		}
	}
	return errs
}

func ownVariable(name string) string {
	if why, ok := ownVariables[name]; ok {
		return why
	}
	for _, prefix := range connection {
		if strings.HasPrefix(name, prefix) {
			return "BPA makes the connection: use spec.ssh, and the address in the BareMetalHost"
		}
	}
	return ""
}
