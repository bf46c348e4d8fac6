//go:build integration

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akraino-icn/bpa/pkg/cli"
)

const workloads = `
apiVersion: v1
kind: Namespace
metadata: {name: in-use}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: sleeping, namespace: in-use}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      initContainers: [{name: i, image: "depot/init@sha256:1111111111111111111111111111111111111111111111111111111111111111"}]
      containers: [{name: c, image: "depot/app@sha256:2222222222222222222222222222222222222222222222222222222222222222"}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: seldom, namespace: in-use}
spec:
  schedule: "0 0 1 1 *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: "depot/job@sha256:3333333333333333333333333333333333333333333333333333333333333333"}]
---
apiVersion: v1
kind: PodTemplate
metadata: {name: template, namespace: in-use}
template:
  spec:
    containers: [{name: c, image: "depot/template@sha256:4444444444444444444444444444444444444444444444444444444444444444"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads-little}
rules:
- {apiGroups: [bpa.akraino.org], resources: [provisionings], verbs: [list]}
- {apiGroups: [""], resources: [pods], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads-little}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-little}
subjects: [{kind: User, name: somebody, apiGroup: rbac.authorization.k8s.io}]
`

// TestImagesInUse checks that kubectl bpa depot images-in-use lists the images of every kind with
// pods, from a real API server, and writes no incomplete list.
func TestImagesInUse(t *testing.T) {
	must(t, workloads, "apply", "-n", "in-use", "-f", "-")
	defer func() { must(t, workloads, "delete", "-n", "in-use", "--wait=false", "-f", "-") }()
	file := filepath.Join(t.TempDir(), "keep.txt")
	args := []string{"depot", "images-in-use", "--kubeconfig", shared.kubeconfig, "--to", file}
	// The Provisionings of other tests have no real cluster, so the command must skip them.
	for _, name := range strings.Fields(must(t, "", "get", "provisionings", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}`)) {
		args = append(args, "--skip", name)
	}
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	if code := cli.Run(t.Context(), append(args, "--as", "somebody"), streams); code == 0 || !strings.Contains(errOut.String(), "forbidden") || !strings.Contains(errOut.String(), "There is no list") {
		t.Errorf("as an account that may not read all kinds: exit code %d, %s", code, &errOut)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an incomplete list was written")
	}
	errOut.Reset()
	if code := cli.Run(t.Context(), args, streams); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	list, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for image, digit := range map[string]string{"init": "1", "app": "2", "job": "3", "template": "4"} {
		if line := "depot/" + image + "@sha256:" + strings.Repeat(digit, 64) + "\n"; !strings.Contains(string(list), line) {
			t.Errorf("no line %sin:\n%s", line, list)
		}
	}
}
