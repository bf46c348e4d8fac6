//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/canary"
	"github.com/akraino-icn/bpa/test/site"
)

// canaries are texts of the Secrets of a site, by "NAMESPACE/SECRET KEY". Nothing else may have one of them.
type canaries struct {
	t     *testing.T
	user  *site.Site
	s     *site.Site // an administrator's
	begin time.Time
	texts map[string]string
}

// Values that a story puts into Secrets, beside the keys that BPA and the lab make. They are others in each run.
var bmcCanary, varsCanary = "canary-of-a-bmc-" + rand.Text(), "canary-of-a-variable-" + rand.Text()

// watchSecrets begins the time of which check searches the files.
func watchSecrets(t *testing.T, s *site.Site) *canaries {
	return &canaries{t: t, user: s, s: s.Admin(), begin: time.Now()}
}

// plantCanaries gives all hosts a BMC with a password, and returns an option that takes a variable from a Secret.
func plantCanaries(t *testing.T, s *site.Site) (*canaries, site.Option) {
	t.Helper()
	c := watchSecrets(t, s)
	c.secret(s.Pool, "bmc", nil, map[string]string{"username": "root", "password": bmcCanary})
	c.secret(s.Namespace, "registry", map[string]string{contract.LabelVars: "true"}, map[string]string{"password": varsCanary})
	for _, host := range s.Hosts() {
		c.s.Kubectl("patch", "baremetalhost", host, "--namespace", s.Pool, "--type=merge", "--patch", `{"spec":{"bmc":{"address":"redfish://192.0.2.1/`+host+`","credentialsName":"bmc"}}}`)
	}
	return c, func(p *v1alpha1.Provisioning) {
		p.Spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{{SecretRef: v1alpha1.SecretKeyRef{Name: "registry", Key: "password"}, Variable: "e2e_registry_password"}}
	}
}

func (c *canaries) secret(namespace, name string, labels, values map[string]string) {
	c.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, StringData: values}
	if err := c.s.Create(c.t.Context(), secret); err != nil {
		c.t.Fatal(err)
	}
}

// check searches for the texts of all Secrets of the tenant, of the pool, of BPA and of Tekton, and of the keys of the machine:
// in all objects of the bootstrap cluster, events among them, in logs and in what commands show of the Provisioning, in what the
// depot and the machine have written since the beginning, and on the nodes. The searches of objects, files and nodes must also
// find what is planted for them.
// names are Secrets that must have a text.
func (c *canaries) check(p *v1alpha1.Provisioning, names ...string) {
	c.t.Helper()
	c.collect()
	for _, name := range append(names, v1alpha1.DefaultSSHSecret, contract.NodesKeyName(p.Name), contract.KubeconfigName(p.Name)) {
		if !strings.Contains(c.names(), "/"+name+" ") {
			c.t.Errorf("Secret %s has no text to search for, among:\n%s", name, c.names())
		}
	}
	c.checkObjects()
	c.checkShown(p)
	c.checkDisk()
	for _, n := range p.Status.Nodes {
		c.checkNode(n.Host)
	}
}

// collect reads the texts of all Secrets, and those of the machine's own keys.
func (c *canaries) collect() {
	c.t.Helper()
	c.texts = map[string]string{}
	for _, namespace := range []string{c.s.Namespace, c.s.Pool, "bpa-system", "tekton-pipelines"} {
		secrets := &corev1.SecretList{}
		if err := c.s.List(c.t.Context(), secrets, client.InNamespace(namespace)); err != nil {
			c.t.Fatal(err)
		}
		for _, secret := range secrets.Items {
			for key, value := range secret.Data {
				if text := canary.Of(keyIn(value)); text != "" {
					c.texts[namespace+"/"+secret.Name+" "+key] = text
				}
			}
		}
	}
	c.collectMachine()
}

// collectMachine reads the keys and tokens of the bootstrap machine, which are files.
func (c *canaries) collectMachine() {
	c.t.Helper()
	keys, err := filepath.Glob(filepath.Join(site.State(), "pki", "*.key"))
	if err != nil || len(keys) < 10 {
		c.t.Fatalf("keys of the machine: %v, %v", keys, err)
	}
	for _, file := range append(keys, filepath.Join(site.State(), "pki", "encryption.yaml"), filepath.Join(site.State(), "depot", "local-token"),
		filepath.Join(site.State(), "depot", "upload-secret"), filepath.Join(site.State(), "depot", "tls", "ca.pem")) {
		value, err := os.ReadFile(file)
		if err != nil {
			c.t.Fatal(err)
		}
		if _, secret, is := strings.Cut(string(value), "secret: "); is { // of encryption.yaml
			value = []byte(strings.TrimRight(strings.Fields(secret)[0], "}"))
		}
		text := canary.Of(value)
		if text == "" {
			c.t.Errorf("%s has no text to search for", file)
			continue
		}
		c.texts["machine/"+filepath.Base(file)+" "] = text
	}
}

// keyIn returns the private key in a kubeconfig, and any other value as it is.
func keyIn(value []byte) []byte {
	_, rest, isKubeconfig := strings.Cut(string(value), "client-key-data: ")
	word, _, _ := strings.Cut(rest, "\n")
	if key, err := base64.StdEncoding.DecodeString(word); isKubeconfig && err == nil {
		return key
	}
	return value
}

// planted is a text that a search must find where a test has put it: that of the SSH key of the site, in base64.
func (c *canaries) planted() string {
	return base64.StdEncoding.EncodeToString([]byte("a: " + c.texts[c.s.Namespace+"/"+v1alpha1.DefaultSSHSecret+" "+corev1.SSHAuthPrivateKey] + "\n"))
}

func (c *canaries) all() (texts []string) {
	for _, text := range c.texts {
		texts = append(texts, text)
	}
	return texts
}

func (c *canaries) names() string {
	var b strings.Builder
	for name := range c.texts {
		b.WriteString(name + "\n")
	}
	return b.String()
}

// of names the Secrets that a text has something of.
func (c *canaries) of(text []byte) string {
	var names []string
	for name, one := range c.texts {
		if canary.In(text, one) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// checkObjects searches all objects of all kinds. Only Secrets may have the texts, and the object that is planted.
func (c *canaries) checkObjects() {
	c.t.Helper()
	planted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.s.Namespace, Name: "planted"},
		Data: map[string]string{"text": c.planted()}}
	if err := c.s.Create(c.t.Context(), planted); err != nil {
		c.t.Fatal(err)
	}
	kinds := strings.Fields(c.s.Kubectl("api-resources", "--verbs=list", "--output=name"))
	var found []string
	for _, kind := range kinds {
		if strings.HasSuffix(kind, ".metrics.k8s.io") || kind == "componentstatuses" {
			continue
		}
		list := c.s.Kubectl("get", kind, "--all-namespaces", "--output=json", "--show-managed-fields")
		_, list, _ = strings.Cut(list, "{") // what is before it is a warning
		places, err := canary.Find([]byte("{"+list), c.all()...)
		if err != nil {
			c.t.Fatalf("%s: %v", kind, err)
		}
		for _, place := range places {
			if !strings.HasPrefix(place, "Secret ") {
				found = append(found, place)
			}
		}
	}
	if diff := cmp.Diff([]string{"ConfigMap " + c.s.Namespace + "/planted.data.text"}, found); diff != "" || len(kinds) < 40 {
		c.t.Errorf("fields of objects of %d kinds with a text of a Secret (-want +got):\n%s", len(kinds), diff)
	}
	if err := c.s.Delete(c.t.Context(), planted); err != nil {
		c.t.Error(err)
	}
}

// checkShown searches logs of pods, and what commands show.
func (c *canaries) checkShown(p *v1alpha1.Provisioning) {
	c.t.Helper()
	shown := map[string]string{
		"logs of runs":       logOf(c.user, p),
		"log of controller":  c.s.Kubectl("logs", "--namespace=bpa-system", "deployment/bpa-controller", "--tail=-1"),
		"log of the webhook": c.s.Kubectl("logs", "--namespace=bpa-system", "deployment/bpa-webhook", "--tail=-1"),
	}
	for _, command := range []string{"status", "history", "events", "logs"} {
		out, err := bpa(c.t, c.user, command, p.Name)
		if err != nil {
			c.t.Errorf("kubectl bpa %s: %v\n%s", command, err, out)
		}
		shown["kubectl bpa "+command] = out
	}
	for what, text := range shown {
		if text == "" {
			c.t.Errorf("the %s show nothing", what)
		}
		if canary.In([]byte(text), c.all()...) {
			c.t.Errorf("the %s have a text of %s", what, c.of([]byte(text)))
		}
	}
}

// checkDisk searches the files of the depot and the logs of the machine that were written since the beginning.
func (c *canaries) checkDisk() {
	c.t.Helper()
	planted := filepath.Join(c.t.TempDir(), "planted")
	if err := os.WriteFile(planted, []byte("x "+c.planted()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	var found []string
	files := 0
	for _, folder := range []string{filepath.Dir(planted), filepath.Join(site.State(), "depot"), filepath.Join(site.State(), "log")} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) { // removed meanwhile
				return nil
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			info, err := entry.Info()
			if err != nil || info.ModTime().Before(c.begin) {
				return nil // removed, or older
			}
			files++
			text, err := os.ReadFile(path)
			if err == nil && c.has(text) {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{planted}, found); diff != "" {
		c.t.Errorf("files of %d with a text of a Secret (-want +got):\n%s", files, diff)
	}
	c.t.Logf("%d files of the depot and logs of the machine are searched for %d texts", files, len(c.texts))
}

// has searches a file that can be large.
func (c *canaries) has(text []byte) bool {
	for _, one := range c.texts {
		for _, form := range canary.Forms(one) {
			if bytes.Contains(text, []byte(form)) {
				return true
			}
		}
	}
	return false
}

// checkBundle makes a bundle from the depot, with an image that all clusters have, and searches all that is in it. It must find
// only the file that is planted.
func (c *canaries) checkBundle() {
	c.t.Helper()
	dir := c.t.TempDir()
	planted, token, bundle := filepath.Join(dir, "planted"), filepath.Join(dir, "token"), filepath.Join(dir, "bundle.tar")
	c.texts["the token of the depot "] = strings.TrimSpace(c.s.Kubectl("create", "token", "default", "--namespace", c.s.Namespace, "--audience=depot.bpa.akraino.org"))
	for file, text := range map[string]string{planted: "x " + c.planted(), token: c.texts["the token of the depot "]} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	out, err := bpa(c.t, c.user, "bundle", "create", "--from-depot", "https://10.60.0.1:5443", "--depot-ca", filepath.Join(site.State(), "depot", "tls", "ca.crt"),
		"--depot-token-file", token, "--image", "registry.k8s.io/pause:3.10.1", "--file", planted+"=planted/text", "--to", bundle)
	if err != nil {
		c.t.Errorf("make a bundle: %v\n%s", err, out)
		return
	}
	file, err := os.Open(bundle)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	found, entries := 0, 0
	for r := tar.NewReader(file); ; entries++ {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		text, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			c.t.Fatal(err)
		}
		if !canary.In(text, c.all()...) {
			continue
		}
		if found++; string(text) != "x "+c.planted() {
			c.t.Errorf("%s in the bundle has a text of %s", header.Name, c.of(text))
		}
	}
	if found != 1 || entries < 5 {
		c.t.Errorf("%d of %d files of the bundle have a text of a Secret, want the planted one", found, entries)
	}
}

// checkNode searches the disk of a node. The variables of a playbook may be there: they are for the node.
func (c *canaries) checkNode(host string) {
	c.t.Helper()
	const planted = "/root/planted"
	const pruned = "-path /proc -o -path /sys -o -path /dev -o -path /run/netns -o -path /run/containerd -o -path /var/lib/containerd" // no files, or those of images
	forms := []string{"planted-on-" + host}
	for _, text := range c.texts {
		if text != varsCanary {
			forms = append(forms, canary.Forms(text)...)
		}
	}
	out := c.s.OnWith(host, strings.Join(forms, "\n")+"\n", "echo planted-on-"+host+" >"+planted+" && find / \\( "+pruned+" \\) -prune -o -type f -size -64M -newer /etc/hostname -print0 >/tmp/searched; "+
		"cat >/run/patterns; xargs -0 grep -laFf /run/patterns </tmp/searched 2>/dev/null; rm -f /run/patterns /tmp/searched "+planted)
	if diff := cmp.Diff([]string{planted}, strings.Fields(out)); diff != "" {
		c.t.Errorf("files of %s with a text of a Secret (-want +got):\n%s", host, diff)
	}
}
