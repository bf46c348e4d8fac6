//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// updateInTheMiddle replaces the images of the controller, the webhook and every Task by images with
// other digests while the playbook of the only run works. The new controller completes the work of the
// old one: checkEachTaskRanOnce tells whether it did.
func updateInTheMiddle(t *testing.T, s *site.Site) {
	t.Helper()
	site.Await(s, &v1alpha1.ProvisioningList{}, "the playbook to work", installLimit, func(p *v1alpha1.Provisioning) bool {
		return p.Status.Progress != nil && p.Status.Progress.Percent > 0
	})
	before := onlyRun(t, s)
	deployAnotherBuild(t, s)
	if after := onlyRun(t, s); after.UID != before.UID || after.IsDone() {
		t.Fatalf("the old build started run %s, now the run is %s, done: %t: want the same run, while its playbook works", before.Name, after.Name, after.IsDone())
	}
}

// checkEachTaskRanOnce checks that the cluster has one run, and that no task of it was repeated.
func checkEachTaskRanOnce(t *testing.T, s *site.Site, cluster string) {
	t.Helper()
	onlyRun(t, s)
	tasks := &tekton.TaskRunList{}
	if err := s.List(context.Background(), tasks, client.InNamespace(s.Namespace), client.MatchingLabels{contract.LabelCluster: cluster}); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks.Items {
		if !task.IsSuccessful() || len(task.Status.RetriesStatus) > 0 {
			t.Errorf("task %s: %+v, %d retries; want each task to succeed without a retry", task.Name, task.Status.Conditions, len(task.Status.RetriesStatus))
		}
	}
	if len(tasks.Items) != 7 { // with enroll and install-plugins
		t.Errorf("%d tasks ran, want seven", len(tasks.Items))
	}
}

// projectImage matches an image of this project in the manifests of the bootstrap machine.
var projectImage = regexp.MustCompile(`10\.60\.0\.1:5000/(bpa/[a-z-]+)@(sha256:[0-9a-f]{64})`)

// deployAnotherBuild replaces the images of all objects in bpa-system by images with other digests,
// and waits until no pod there runs the old images. It restores the old images when the test ends.
func deployAnotherBuild(t *testing.T, s *site.Site) {
	t.Helper()
	s = s.Admin()
	get := []string{"--namespace", "bpa-system", "get", "deployments,tasks.tekton.dev", "-o", "yaml", "--show-managed-fields=false"}
	old := s.Kubectl(get...)
	if !projectImage.MatchString(old) {
		t.Fatalf("no image of the project in bpa-system:\n%s", old)
	}
	back := map[string]string{}
	fresh := projectImage.ReplaceAllStringFunc(old, func(ref string) string {
		again := rebuilt(t, ref)
		back[again] = ref
		return again
	})
	replace := func(text string) {
		if out, err := s.TryKubectl(withoutVersions(text), "--namespace", "bpa-system", "replace", "-f", "-"); err != nil {
			t.Fatalf("replace the objects in bpa-system: %v\n%s", err, out)
		}
		for _, deployment := range []string{"bpa-webhook", "bpa-controller"} {
			s.Kubectl("--namespace", "bpa-system", "rollout", "status", "deployment/"+deployment, "--timeout=90s")
		}
	}
	t.Cleanup(func() {
		text := s.Kubectl(get...)
		for again, ref := range back {
			text = strings.ReplaceAll(text, again, ref)
		}
		replace(text)
	})
	replace(fresh)
}

// withoutVersions removes the resource versions, so that objects can be replaced although they have
// changed since they were read. Deployments change often.
func withoutVersions(text string) string {
	return regexp.MustCompile(`(?m)^    resourceVersion: .*\n`).ReplaceAllString(text, "")
}

// rebuilt pushes a copy of the image ref with one more label, and returns the reference of the
// copy. Like another build of the same source, the copy has the same content and another digest.
func rebuilt(t *testing.T, ref string) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(site.State(), "depot", "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	login := remote.WithAuth(&authn.Basic{Username: "e2e", Password: strings.TrimSpace(string(token))})
	m := projectImage.FindStringSubmatch(ref)
	repository, err := name.NewRepository("127.0.0.1:5000/"+m[1], name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(repository.Digest(m[2]), login)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Config.Labels = map[string]string{"test": "another build"}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(repository.Digest(digest.String()), image, login); err != nil {
		t.Fatal(err)
	}
	return "10.60.0.1:5000/" + m[1] + "@" + digest.String()
}
