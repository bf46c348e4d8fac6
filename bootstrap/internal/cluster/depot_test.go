package cluster

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// object has the fields of a manifest that these tests read.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Spec struct {
		Selector map[string]any
		Ports    []port
	}
	Endpoints []struct{ Addresses []string }
	Ports     []port
}

type port struct {
	Name       string
	Port       int
	TargetPort any
}

func objects(t *testing.T, text []byte) map[string]object {
	t.Helper()
	all := map[string]object{}
	for document := range strings.SplitSeq(string(text), "---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if o.Kind != "" {
			all[o.Kind+"/"+o.Metadata.Name] = o
		}
	}
	return all
}

func TestProjectHasTheMachinesDepotAndNoSecondOne(t *testing.T) {
	text, err := projectManifests(os.DirFS("../../../config"), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, text)
	for _, unwanted := range []string{"Deployment/bpa-depot", "PersistentVolumeClaim/depot"} {
		if _, there := all[unwanted]; there {
			t.Errorf("%s would be a second depot", unwanted)
		}
	}
	if _, there := all["ValidatingAdmissionPolicy/bpa-pod-security"]; there {
		t.Error("the policy would warn of namespaces that this machine restricts")
	}
	for _, wanted := range []string{"Namespace/bpa-system", "ValidatingAdmissionPolicy/bpa-select-hosts", "Deployment/bpa-controller", "ClusterRole/bpa-depot-writer", "Service/depot", "EndpointSlice/depot-machine"} {
		if _, there := all[wanted]; !there {
			t.Errorf("no %s", wanted)
		}
	}
	if len(all["Service/depot"].Spec.Selector) > 0 {
		t.Error("the Service has a selector: it is the Service of a depot in a pod")
	}
	if strings.Index(string(text), "kind: Namespace") > strings.Index(string(text), "kind: Deployment") {
		t.Error("a Deployment comes before its namespace")
	}
}

func TestProjectsClustersHaveTheMachinesDepot(t *testing.T) {
	text, err := projectManifests(os.DirFS("../../../config"), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := siteSettings(map[string]string{"depot-url": "https://10.60.0.1:5443", "depot-ca": "PEM\nPEM\n", "depot-image-url": "http://10.60.0.1:5000"})
	if err != nil {
		t.Fatal(err)
	}
	set := append(text, settings...)
	if before, after := len(objects(t, text)), len(objects(t, set)); before+1 != after {
		t.Errorf("%d objects became %d", before, after)
	}
	if cm := objects(t, set)["ConfigMap/config-bpa"]; cm.Metadata.Namespace != projectNamespace {
		t.Errorf("the settings are in namespace %q", cm.Metadata.Namespace)
	}
	for _, want := range []string{"depot-url: https://10.60.0.1:5443\n", "depot-ca: |\n    PEM\n", "depot-image-url: http://10.60.0.1:5000\n"} {
		if !strings.Contains(string(set), want) {
			t.Errorf("the settings lack %q", want)
		}
	}
}

func TestProjectIsRefusedWhenTheDepotsFilesHaveOtherNames(t *testing.T) {
	_, err := projectManifests(fstest.MapFS{"depot.yaml": {Data: []byte("kind: X\n")}, "401-depot-service.yaml": {Data: []byte("kind: Y\n")}}, "192.0.2.1")
	if err == nil || !strings.Contains(err.Error(), "400-depot-service.yaml does not exist") {
		t.Errorf("error = %v", err)
	}
}

// The Service of the machine's depot has the same ports as that of a depot in a pod, and its
// endpoint is the address at which the machine's depot listens.
func TestServiceHasTheMachinesDepotAsEndpoint(t *testing.T) {
	pod, err := os.ReadFile("../../../config/400-depot-service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, got := objects(t, pod)["Service/depot"], objects(t, manifests.DepotService)["Service/depot"]
	if want.Metadata.Namespace != got.Metadata.Namespace || len(got.Spec.Ports) != len(want.Spec.Ports) {
		t.Fatalf("%+v, in a pod %+v", got, want)
	}
	for i, p := range got.Spec.Ports {
		if q := want.Spec.Ports[i]; p.Name != q.Name || p.Port != q.Port {
			t.Errorf("port %+v, in a pod %+v", p, q)
		}
	}
	slice := objects(t, manifests.DepotService)["EndpointSlice/depot-machine"]
	if slice.Metadata.Labels["kubernetes.io/service-name"] != "depot" || slice.Metadata.Namespace != "bpa-system" {
		t.Errorf("the EndpointSlice belongs to no Service: %+v", slice.Metadata)
	}
	if len(slice.Endpoints) != 1 || len(slice.Endpoints[0].Addresses) != 1 || slice.Endpoints[0].Addresses[0] != "ADDRESS" {
		t.Errorf("endpoints %+v, want the place of the address", slice.Endpoints)
	}
	for name, port := range map[string]string{"https": layout.DepotTLSPort, "http": layout.DepotPort} {
		found := false
		for _, p := range slice.Ports {
			found = found || p.Name == name && port == strconv.Itoa(p.Port)
		}
		if !found {
			t.Errorf("no port %s (%s) in %+v", name, port, slice.Ports)
		}
	}
}

func TestKoPushesLocallyAndManifestsHavePullReferences(t *testing.T) {
	text, err := koRun{base: map[string]string{kubesprayTask: AnsibleImage}}.config()
	if err != nil {
		t.Fatal(err)
	}
	c := Cluster{}
	if strings.Contains(string(text), c.Layout.Pull("")) || strings.Count(string(text), layout.DepotLocal+"/base/") != 2 {
		t.Errorf("base images must come from the local listener, where they can be mounted:\n%s", text)
	}
	digest := "@sha256:" + strings.Repeat("0", 64)
	resolved := c.withPullRefs([]byte("image: " + layout.DepotLocal + "/bpa/controller" + digest + "\nlisten: " + layout.DepotLocal + "\n"))
	if want := "image: " + c.Layout.Pull("bpa/controller") + digest + "\nlisten: " + layout.DepotLocal + "\n"; string(resolved) != want {
		t.Errorf("got\n%s\nwant\n%s", resolved, want)
	}
	if len(references(c.Layout.Pull(""), resolved)) != 1 {
		t.Error("the image is not recognized as an image of the depot")
	}
}
