package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const (
	hostPassword = "s3cr3t-word"
	twoHosts     = `nodes:
- {name: node1, bmc: {address: "ipmi://10.0.0.1", username: admin, password: s3cr3t-word}, bootMACAddress: "02:00:00:00:00:01", labels: {rack: r1}}
- {name: node2, bmc: {address: "ipmi://10.0.0.2", username: admin, password: s3cr3t-word}, net: {links: []}}
`
)

// hostsFile writes a file with hosts that only its owner can read.
func hostsFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hosts.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// afresh forgets what the terminal shows.
func (w *terminal) afresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Reset()
	w.errOut.Reset()
}

// imports runs an import. Whatever it does, it shows no password.
func (w *terminal) imports(want int, args []string, texts ...string) {
	w.t.Helper()
	w.afresh()
	w.expect(w.run(w.t.Context(), append([]string{"hosts", "import"}, args...)...), want, texts...)
	if all := w.text() + w.errOut.String(); strings.Contains(all, hostPassword) || strings.Contains(all, "czNjcjN0LXdvcmQ") {
		w.t.Errorf("a password is printed:\n%s", all)
	}
}

// stored lists the hosts and Secrets of the cluster.
func (w *terminal) stored() (all []string) {
	w.t.Helper()
	var hosts metal3.BareMetalHostList
	var secrets corev1.SecretList
	if err := errors.Join(w.cluster.List(context.Background(), &hosts), w.cluster.List(context.Background(), &secrets)); err != nil {
		w.t.Fatal(err)
	}
	for _, h := range hosts.Items {
		all = append(all, "host "+h.Namespace+"/"+h.Name)
	}
	for _, s := range secrets.Items {
		all = append(all, "secret "+s.Namespace+"/"+s.Name)
	}
	return all
}

var twoHostsStored = []string{"host site-a/node1", "host site-a/node2", "secret site-a/node1-bmc-secret", "secret site-a/node2-bmc-secret", "secret site-a/node2-network-data"}

func TestImportOfHosts(t *testing.T) {
	w := newTerminal(t)
	file := hostsFile(t, twoHosts)
	w.imports(codeDone, []string{file, "--dry-run=client"}, "node1  ipmi://10.0.0.1  02:00:00:00:00:01  created", "node2  ipmi://10.0.0.2  -                  created", "Nothing was sent")
	w.imports(codeDone, []string{file, "--dry-run=server"}, "created", "server dry run: nothing was changed")
	if got := w.stored(); len(got) > 0 {
		t.Fatalf("a dry run has stored %v", got)
	}
	w.imports(codeDone, []string{file}, "node1", "created", "kubectl bpa hosts -n site-a")
	if got := w.stored(); !slices.Equal(got, twoHostsStored) {
		t.Fatalf("stored %v, want %v", got, twoHostsStored)
	}
	secret := &corev1.Secret{}
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: "node1-bmc-secret"}, secret); err != nil || string(secret.Data["password"]) != hostPassword {
		t.Errorf("%v, %s", err, secret.Data)
	}
	calls := w.record()
	w.imports(codeDone, []string{file}, "node1", "unchanged", "Nothing was changed: the site has the hosts of")
	for _, call := range calls.made {
		if !strings.HasPrefix(call, "list ") && !strings.HasPrefix(call, "get ") {
			t.Errorf("the second import makes the call %s", call)
		}
	}
}

// TestImportChangesWhatIsSafe: the rest stays, and the exit code says so.
func TestImportChangesWhatIsSafe(t *testing.T) {
	w := newTerminal(t)
	w.imports(codeDone, []string{hostsFile(t, twoHosts)})
	host := &metal3.BareMetalHost{}
	key := client.ObjectKey{Namespace: "site-a", Name: "node1"}
	if err := w.cluster.Get(t.Context(), key, host); err != nil {
		t.Fatal(err)
	}
	host.Spec.ConsumerRef = &corev1.ObjectReference{Name: "edge-1"}
	if err := w.cluster.Update(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	changed := hostsFile(t, strings.NewReplacer("rack: r1", "rack: r2", "password: s3cr3t-word}, bootMACAddress: \"02:00:00:00:00:01\"", "password: another-1}, bootMACAddress: \"02:00:00:00:00:0f\"").Replace(twoHosts))
	for _, dry := range []string{"--dry-run=client", "--dry-run=server", "--dry-run=none"} {
		w.imports(codeNotYet, []string{changed, dry}, "node1  ipmi://10.0.0.1  02:00:00:00:00:01  updated: credentials, label rack", "unchanged",
			"1 difference of", "line 2: node1: bootMACAddress stays: Metal3 never changes it, and the host is claimed by edge-1")
	}
	secret := &corev1.Secret{}
	if err := errors.Join(w.cluster.Get(t.Context(), key, host), w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: "node1-bmc-secret"}, secret)); err != nil {
		t.Fatal(err)
	}
	if host.Labels["rack"] != "r2" || host.Spec.BootMACAddress != "02:00:00:00:00:01" || host.Spec.ConsumerRef == nil || string(secret.Data["password"]) != "another-1" {
		t.Errorf("labels %v, MAC %s, consumer %v, Secret %s", host.Labels, host.Spec.BootMACAddress, host.Spec.ConsumerRef, secret.Data)
	}
}

// TestImportRefusesBadRows: nothing is imported if one row is bad, and all findings are shown.
func TestImportRefusesBadRows(t *testing.T) {
	other := &metal3.BareMetalHost{}
	other.Namespace, other.Name, other.Spec.BootMACAddress = "site-b", "other", "02:00:00:00:00:01"
	w := newTerminal(t, other)
	file := hostsFile(t, twoHosts+"- {name: Node_3, bmc: {address: \"root:s3cr3t-word@10.0.0.3\", username: admin}}\n")
	w.imports(codeFailed, []string{file}, "nothing was imported", "has 4 errors",
		"line 2: node1: bootMACAddress: host other of namespace site-b has the MAC address 02:00:00:00:00:01", "line 4: Node_3: name:", "line 4: Node_3: bmc.address: the address contains a login", "line 4: Node_3: bmc.password: it is missing")
	if got := w.stored(); len(got) != 1 {
		t.Errorf("stored %v", got)
	}
	w.imports(codeFailed, []string{hostsFile(t, "nodes: s3cr3t-word\n")}, "has 1 error:", "line 1: nodes: this is no list")
	w.imports(codeUsage, nil, "expected one FILE, got 0")
	w.imports(codeUsage, []string{file, "--dry-run=maybe"}, "--dry-run is \"maybe\"")
	w.imports(codeUsage, []string{file, "-o", "xml"}, "the formats are json, yaml")
	w.imports(codeFailed, []string{filepath.Join(t.TempDir(), "none")}, "no such file")
}

// TestImportWithoutPermissionToList: a user with permissions in one namespace imports, and is told what was not compared.
func TestImportWithoutPermissionToList(t *testing.T) {
	w := newTerminal(t)
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if len(opts) == 0 {
				return apierrors.NewForbidden(schema.GroupResource{Group: "metal3.io", Resource: "baremetalhosts"}, "", nil)
			}
			return c.List(ctx, list, opts...)
		},
	})
	w.imports(codeDone, []string{hostsFile(t, twoHosts)}, "duplicates are looked for only in site-a", "created")
}

// TestImportGoesOn: at each write that fails, the user learns what is done, no host lacks its Secrets, and the next import
// completes the file.
func TestImportGoesOn(t *testing.T) {
	for broken := 1; broken <= len(twoHostsStored); broken++ {
		w := newTerminal(t)
		file := hostsFile(t, twoHosts)
		whole := w.cluster
		writes := 0
		w.cluster = interceptor.NewClient(whole, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if !slices.Contains(opts, client.CreateOption(client.DryRunAll)) {
					if writes++; writes == broken {
						return errors.New("the disk of etcd is full of " + hostPassword)
					}
				}
				return c.Create(ctx, o, opts...)
			},
		})
		w.imports(codeFailed, []string{file}, "failed", "the disk of etcd is full of ***", "of 2 hosts of the file are done. The same command goes on with the others")
		if waits := strings.Contains(w.text(), "not imported"); waits != (broken < len(twoHostsStored)) {
			t.Errorf("write %d failed, a host waits: %t\n%s", broken, waits, w.text())
		}
		if got := w.stored(); len(got) != broken-1 {
			t.Fatalf("write %d failed, stored %v", broken, got)
		}
		w.imports(codeDone, []string{file}, "created")
		if got := w.stored(); !slices.Equal(got, twoHostsStored) {
			t.Errorf("after write %d: stored %v", broken, got)
		}
	}
}

// TestImportIsRehearsed: what the API server would refuse stops the import before the first write.
func TestImportIsRehearsed(t *testing.T) {
	w := newTerminal(t)
	whole := w.cluster
	w.cluster = interceptor.NewClient(whole, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetName() == "node2" {
				return apierrors.NewForbidden(schema.GroupResource{Group: "metal3.io", Resource: "baremetalhosts"}, "node2", errors.New("a webhook denies it"))
			}
			return c.Create(ctx, o, opts...)
		},
	})
	for _, dry := range []string{"--dry-run=server", "--dry-run=none"} {
		w.imports(codeFailed, []string{hostsFile(t, twoHosts), dry}, "nothing was imported: line 3: node2: create BareMetalHost:", "a webhook denies it")
		if got := w.stored(); len(got) > 0 {
			t.Errorf("%s: stored %v", dry, got)
		}
	}
}

// TestImportMeetsMetal3: a host that changes while the command works is compared again.
func TestImportMeetsMetal3(t *testing.T) {
	w := newTerminal(t)
	w.imports(codeDone, []string{hostsFile(t, twoHosts)})
	whole, met := w.cluster, false
	w.cluster = interceptor.NewClient(whole, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*metal3.BareMetalHost); is && len(opts) == 0 && !met {
				met = true
				host := &metal3.BareMetalHost{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), host); err != nil {
					return err
				}
				host.Spec.ConsumerRef = &corev1.ObjectReference{Name: "edge-9"}
				if err := c.Update(ctx, host); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	file := hostsFile(t, strings.Replace(twoHosts, "labels: {rack: r1}", "labels: {rack: r9}, bootMode: legacy", 1))
	w.imports(codeNotYet, []string{file}, "updated", "bootMode stays: the host is claimed by edge-9")
	host := &metal3.BareMetalHost{}
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: "node1"}, host); err != nil || !met || host.Labels["rack"] != "r9" || host.Spec.BootMode != "" || host.Spec.ConsumerRef == nil {
		t.Errorf("%v, met %t: %v %+v", err, met, host.Labels, host.Spec)
	}
}

func TestImportPrintsObjects(t *testing.T) {
	w := newTerminal(t)
	w.typed = strings.NewReader(twoHosts)
	w.imports(codeDone, []string{"-", "--dry-run=client", "-o", "name"})
	if got := w.text(); got != "baremetalhost.metal3.io/node1\nbaremetalhost.metal3.io/node2\n" {
		t.Errorf("-o name:\n%s", got)
	}
	for _, format := range []string{"json", "yaml"} {
		w.imports(codeDone, []string{hostsFile(t, twoHosts), "--dry-run=server", "-o", format}, "BareMetalHost", "credentialsName")
		if strings.Contains(w.text(), "Secret\n") || strings.Contains(w.text(), "dry run") || strings.Contains(w.text(), "creationTimestamp") {
			t.Errorf("-o %s:\n%s", format, w.text())
		}
	}
	w.imports(codeDone, []string{hostsFile(t, twoHosts), "-o", "json"})
	var list struct{ Items []metal3.BareMetalHost }
	if err := json.Unmarshal([]byte(w.text()), &list); err != nil || len(list.Items) != 2 || list.Items[0].UID != "" && list.Items[0].Name != "node1" {
		t.Errorf("%v:\n%s", err, w.text())
	}
}

// TestImportWarns about files that others can read, and about ICN's field os.
func TestImportWarns(t *testing.T) {
	w := newTerminal(t)
	file := hostsFile(t, strings.Replace(twoHosts, "node1,", "node1, os: {password: s3cr3t-word},", 1))
	w.imports(codeDone, []string{file, "--dry-run=client"}, "the fields os are not imported")
	if strings.Contains(w.errOut.String(), "Warning") {
		t.Errorf("a private file gets a warning:\n%s", w.errOut.String())
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	w.imports(codeDone, []string{file, "--dry-run=client"}, "Warning: every user of this machine can read "+file, "chmod 600")
}
