package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// request holds the flags from which a contract.Request is made. In a run, the request is read from
// the folder --request-dir. Without this folder the other flags make a request, for a user who
// wants to list the artifacts that a cluster would need.
type request struct {
	dir, provisioning, namespace                 string
	kubernetes, network, system, depot, varsYAML string
}

func (r *request) flags() {
	flag.StringVar(&r.provisioning, "provisioning", "", "name of the Provisioning")
	flag.StringVar(&r.namespace, "namespace", "", "namespace of the Provisioning")
	flag.StringVar(&r.dir, "request-dir", "", "folder with "+contract.KeyRequest+"; empty: the flags below make the request")
	flag.StringVar(&r.kubernetes, "kubernetes", "", "Kubernetes version, such as 1.35.4")
	flag.StringVar(&r.network, "network-plugin", "flannel", "kubespray's kube_network_plugin")
	flag.StringVar(&r.system, "operating-system", "", "operating system of the hosts: ID-VERSION_ID of os-release, such as ubuntu-24.04; empty: packages are not listed")
	flag.StringVar(&r.depot, "nodes-depot", "http://depot.local", "URL that nodes use to read from the depot")
	flag.StringVar(&r.varsYAML, "vars", "", "YAML file with more kubespray variables")
}

func (r *request) read() (contract.Request, error) {
	if r.dir != "" {
		return task.ReadRequest(r.dir, r.namespace, r.provisioning)
	}
	if r.kubernetes == "" {
		return contract.Request{}, fmt.Errorf("set --request-dir, or --kubernetes to make a request from flags")
	}
	made := contract.Request{
		Spec: contract.Spec{
			KubernetesVersion: r.kubernetes, NetworkPlugin: r.network, DepotURL: r.depot, OperatingSystem: r.system,
			PodSubnet: "10.233.64.0/18", ServiceSubnet: "10.233.0.0/18", SSHUser: "root", SSHPort: 22,
			Slots: []contract.Slot{{Name: "master", Roles: []string{contract.RoleControlPlane}}, {Name: "worker", Roles: []string{contract.RoleWorker}}},
		},
	}
	if r.varsYAML == "" {
		return made, nil
	}
	text, err := os.ReadFile(r.varsYAML)
	if err != nil {
		return made, fmt.Errorf("--vars: %w", err)
	}
	made.Vars = map[string]json.RawMessage{}
	if err := yaml.UnmarshalStrict(text, &made.Vars); err != nil {
		return made, fmt.Errorf("--vars %s: %w", r.varsYAML, err)
	}
	return made, nil
}
