package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// leaves returns the commands that do something, without those that cobra adds.
func leaves(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Runnable() && sub.Name() != "help" && !(sub.HasSubCommands() && (sub.Name() == "bundle" || sub.Name() == "depot")) {
			all = append(all, sub)
		}
		all = append(all, leaves(sub)...)
	}
	return all
}

const grammarPage = "../../docs/kubectl-bpa.md"

// grammarTable returns the table of the flags that all commands share.
func grammarTable(root *cobra.Command) string {
	var table strings.Builder
	table.WriteString("| command | `-o` | `-A`, `-l` | names complete | `--dry-run` | waits |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, cmd := range leaves(root) {
		flag := func(name string) bool {
			f := cmd.Flags().Lookup(name)
			return f != nil && !f.Hidden
		}
		formats, scope, complete, dry, waits := "", "", "", "", ""
		if f := cmd.Flags().Lookup("output"); f != nil && !f.Hidden {
			formats = strings.TrimPrefix(f.Usage, "output format: ")
			formats, _, _ = strings.Cut(formats, ";")
			formats, _, _ = strings.Cut(formats, " (")
			formats = strings.NewReplacer("=TEMPLATE", "").Replace(formats)
		}
		if flag("all-namespaces") && flag("selector") {
			scope = "yes"
		}
		if cmd.Annotations[completes] != "" {
			complete = "yes"
		}
		if flag("dry-run") {
			dry = "server"
			if strings.Contains(cmd.Flags().Lookup("dry-run").Usage, `"client"`) {
				dry = "client, server"
			}
		}
		switch {
		case flag("wait"):
			waits = "`--wait`, `--timeout`"
			if cmd.Flags().Lookup("wait").DefValue == "true" {
				waits = "`--wait=false`, `--timeout`"
			}
		case flag("timeout"):
			waits = "always, `--timeout`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", strings.TrimPrefix(cmd.CommandPath(), "kubectl bpa "), formats, scope, complete, dry, waits)
	}
	return table.String()
}

// TestGrammarPage compares the table of the page with the commands. go test -update writes it.
func TestGrammarPage(t *testing.T) {
	table := grammarTable(newRoot(genericclioptions.NewConfigFlags(true), &session{}))
	raw, err := os.ReadFile(grammarPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- table of commands -->\n", "<!-- end -->\n"
	head, rest, found := strings.Cut(string(raw), begin)
	old, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q and %q", grammarPage, begin, end)
	}
	if *updateGolden {
		if err := os.WriteFile(grammarPage, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table {
		t.Errorf("the table of %s is not that of the commands: run go test ./pkg/cli -run TestGrammarPage -update\n%s", grammarPage, table)
	}
}

// TestOneGrammar checks the rules that hold for all commands: -o is a format, -f a file (in logs --follow, as in kubectl logs),
// -w watches, neither waits, and a list has -A and -l.
func TestOneGrammar(t *testing.T) {
	root := newRoot(genericclioptions.NewConfigFlags(true), &session{})
	commands := leaves(root)
	if len(commands) < 25 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, cmd := range commands {
		name := cmd.CommandPath()
		if f := cmd.Flags().ShorthandLookup("o"); f != nil && f.Deprecated == "" && !strings.HasPrefix(f.Usage, "output format: ") {
			t.Errorf("%s: -o is %q, want an output format", name, f.Usage)
		}
		if f := cmd.Flags().ShorthandLookup("f"); f != nil && f.Deprecated == "" && f.Name != "filename" && (f.Name != "follow" || cmd.Name() != "logs") {
			t.Errorf("%s: -f is --%s, want --filename", name, f.Name)
		}
		if f := cmd.Flags().ShorthandLookup("w"); f != nil && f.Deprecated == "" && f.ShorthandDeprecated == "" && f.Name != "watch" {
			t.Errorf("%s: -w is --%s", name, f.Name)
		}
		if cmd.Flags().Lookup("all-namespaces") == nil != (cmd.Flags().Lookup("selector") == nil) {
			t.Errorf("%s has one of -A and -l", name)
		}
		if takesName := strings.Contains(cmd.Use, "NAME") || strings.Contains(cmd.Use, "CLUSTER") || strings.Contains(cmd.Use, "HOST"); takesName && cmd.ValidArgsFunction == nil {
			t.Errorf("%s: its argument does not complete", name)
		}
	}
}

// inBoth returns Provisionings, Backups, hosts, runs and Softwares of two namespaces.
func inBoth() (all []client.Object) {
	for _, namespace := range []string{"site-a", "site-b"} {
		p := hasCluster(provisioning("edge-" + namespace[5:]))
		p.Labels = map[string]string{"owner": namespace}
		run := runOf(p, contract.OperationInstall, 1)
		b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Name: "backup-" + namespace[5:]}, Spec: v1alpha1.BackupSpec{Provisioning: p.Name}}
		w := softwareFor("tools-"+namespace[5:], p.Name)
		h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: "host-" + namespace[5:]}}
		for _, o := range []client.Object{p, run, b, w, h} {
			o.SetNamespace(namespace)
			if o.GetLabels() == nil {
				o.SetLabels(map[string]string{})
			}
			o.GetLabels()["owner"] = namespace
			all = append(all, o)
		}
	}
	return all
}

// TestLists: each command that lists has kubectl's -n, -A, -l and -o.
func TestLists(t *testing.T) {
	for command, name := range map[string]string{
		"status": "provisioning.bpa.akraino.org/edge-", "backups": "backup.bpa.akraino.org/backup-", "hosts": "baremetalhost.metal3.io/host-",
		"software": "software.bpa.akraino.org/tools-", "history": "pipelinerun.tekton.dev/edge-",
	} {
		run := func(args ...string) string {
			t.Helper()
			w := newStopped(t, inBoth()...)
			w.expect(w.run(t.Context(), append([]string{command}, args...)...), codeDone)
			return w.text()
		}
		has := func(text string, a, b bool) {
			t.Helper()
			if strings.Contains(text, name+"a") != a || strings.Contains(text, name+"b") != b {
				t.Errorf("%s: site-a %t, site-b %t expected in\n%s", command, a, b, text)
			}
		}
		has(run("-o", "name"), true, false)
		has(run("-A", "-o", "name"), true, true)
		has(run("-A", "-l", "owner=site-b", "-o", "name"), false, true)
		has(run("-l", "owner=site-b", "-o", "name"), false, false)
		if text := run("-A"); !strings.Contains(text, "site-a") || !strings.Contains(text, "site-b") || command != "software" && !strings.Contains(text, "NAMESPACE") {
			t.Errorf("%s -A:\n%s", command, text)
		}
		var answer struct{ APIVersion, Kind string }
		if text := run("-A", "-o", "json"); json.Unmarshal([]byte(text), &answer) != nil || answer.Kind == "" || answer.APIVersion == "" {
			t.Errorf("%s -o json has no version and kind:\n%.300s", command, text)
		}
		if text := run("-A", "-o", "yaml"); yaml.Unmarshal([]byte(text), &answer) != nil || !strings.Contains(text, "site-b") {
			t.Errorf("%s -o yaml:\n%.300s", command, text)
		}
		if text := run("-A", "-o", "jsonpath={.kind}"); text != answer.Kind {
			t.Errorf("%s -o jsonpath: %q, want %q", command, text, answer.Kind)
		}
		w := newStopped(t, inBoth()...)
		w.expect(w.run(t.Context(), command, "-o", "xml"), codeUsage, `--output is "xml": the formats are json, yaml`)
		w.expect(w.run(t.Context(), command, "-l", "a b"), codeUsage, "--selector")
		if command != "hosts" {
			w.expect(w.run(t.Context(), command, "edge-a", "-A"), codeUsage, "exclude each other")
		}
	}
}

// TestReports: what a command makes itself has a version and a kind of its own.
func TestReports(t *testing.T) {
	for command, kind := range map[string]string{
		"plan edge-a": "PlanReport", "history edge-a": "HistoryReport", "software edge-a": "SoftwareReport", "hosts": "HostReport",
		"plugins": "PluginReport", "plugins show multus": "PluginReport", "status edge-a": "Provisioning",
	} {
		w := newStopped(t, inBoth()...)
		w.expect(w.run(t.Context(), append(strings.Fields(command), "-o", "jsonpath={.apiVersion} {.kind}")...), codeDone)
		if _, got, _ := strings.Cut(w.text(), "/v1alpha1 "); got != kind {
			t.Errorf("%s: %q, want the kind %s", command, w.text(), kind)
		}
	}
}

// TestOldNames: the names of a release ago work, with a notice.
func TestOldNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	for args, notice := range map[string]string{
		"retry edge-1 --watch --timeout=1ns":                    "use --wait",
		"patch edge-1 -f --timeout=1ns":                         "use --wait",
		"backup edge-1 -w --timeout=1ns":                        "use --wait",
		"kubeconfig edge-1 -o " + file:                          "Use --to " + file,
		"bundle export -o " + file:                              "use --to for a file",
		"depot images-in-use --output " + file + " --skip=nope": "use --to for a file",
	} {
		w := newStopped(t, hasCluster(provisioning("edge-1")))
		code := w.run(t.Context(), strings.Fields(args)...)
		if !strings.Contains(w.text()+w.errOut.String(), notice) || strings.Contains(w.errOut.String(), "unknown flag") || code == codeUsage && !strings.HasPrefix(args, "bundle") {
			t.Errorf("%s: %q is not in\n%s%s", args, notice, w.text(), w.errOut.String())
		}
	}
}

// TestServerDryRun: with --dry-run=server no command changes an object, and without it each one does.
func TestServerDryRun(t *testing.T) {
	for _, command := range []string{
		"retry edge-1", "pause edge-1", "patch edge-1", "backup edge-1 --name=b-2", "cancel edge-2", "software edge-1 --check",
	} {
		for _, dry := range []bool{true, false} {
			other := provisioning("edge-2")
			active := runOf(other, contract.OperationInstall, 1)
			isRunning(other, active)
			w := newStopped(t, hasCluster(provisioning("edge-1")), other, active, softwareFor("tools", "edge-1"))
			before := everything(t, w)
			args := strings.Fields(command)
			if dry {
				args = append(args, "--dry-run=server")
			} else if args[0] == "cancel" {
				args = append(args, "--wait=false")
			}
			w.expect(w.run(t.Context(), args...), codeDone)
			if strings.Contains(w.text(), "server dry run: nothing was changed") != dry {
				t.Errorf("%v:\n%s", args, w.text())
			}
			if same := before == everything(t, w); same != dry {
				t.Errorf("%v: unchanged %t, want %t", args, same, dry)
			}
		}
		w := newStopped(t)
		w.expect(w.run(t.Context(), append(strings.Fields(command), "--dry-run=client")...), codeUsage, "use --dry-run=server")
	}
}

// everything returns the objects that commands change.
func everything(t *testing.T, w *terminal) string {
	t.Helper()
	var text strings.Builder
	site := &site{client: w.cluster, namespace: "site-a"}
	sources := append(site.selections("edge-2")[:1], &selection{client: w.cluster, list: func() client.ObjectList { return &v1alpha1.ProvisioningList{} }},
		&selection{client: w.cluster, list: func() client.ObjectList { return &v1alpha1.BackupList{} }})
	for _, source := range sources {
		all := source.list()
		if err := w.cluster.List(t.Context(), all, source.options...); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(raw)
	}
	return text.String()
}

// TestCompletion plays what a shell asks for.
func TestCompletion(t *testing.T) {
	done := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-1"}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-a"}}
	done.Status.MarkSucceeded("True", "Stored", "")
	for line, want := range map[string]string{
		"status ":                   "edge-a",
		"status -n site-a e":        "edge-a",
		"status x":                  "",
		"kubeconfig edge-a ":        "",
		"hosts reset ":              "host-a",
		"hosts reset host-a ":       "",
		"hosts --for ":              "edge-a",
		"check hosts ho":            "host-a",
		"check hosts --skip fire":   "firewall",
		"restore edge-a --from ":    "b-1",
		"plugins show mult":         "multus",
		"plugins test edge-a multu": "multus",
		"history -o ya":             "yaml",
		"patch edge-a --dry-run s":  "server",
		"stat":                      "status\tShow a Provisioning on one page: conditions, nodes, run, next step",
	} {
		w := newStopped(t, append(inBoth(), done)...)
		words := strings.Split(line, " ")
		w.expect(w.run(t.Context(), append([]string{"__complete"}, words...)...), codeDone)
		got, _, _ := strings.Cut(w.text(), ":")
		if strings.HasPrefix(line, "stat") && !strings.Contains(line, " ") {
			got = strings.SplitN(w.text(), "\n:", 2)[0]
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q completes to %q, want %q", line, got, want)
		}
	}
	raw, err := os.ReadFile("../../cmd/kubectl-bpa/kubectl_complete-bpa")
	if err != nil || !strings.Contains(string(raw), `exec kubectl-bpa __complete "$@"`) {
		t.Errorf("kubectl finds no completion: %v, %s", err, raw)
	}
}

// TestContextsComplete: kubectl's own flags complete from the kubeconfig.
func TestContextsComplete(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(kubeconfigOf("https://127.0.0.1:9")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--context", "--cluster", "--user"} {
		var out, errOut strings.Builder
		code := Run(t.Context(), []string{"__complete", "status", "--kubeconfig", kubeconfig, flag, ""}, genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
		if name, _, _ := strings.Cut(out.String(), "\n"); code != codeDone || name == "" || strings.HasPrefix(name, ":") {
			t.Errorf("%s: exit code %d, %q", flag, code, out.String())
		}
	}
}

// TestImpersonationOnTheWire: each command that talks to the API server passes on kubectl's --as, also behind its own flags.
func TestImpersonationOnTheWire(t *testing.T) {
	commands := map[string]string{
		"status": "edge-1", "watch": "edge-1", "history": "edge-1", "plan": "edge-1", "kubeconfig": "edge-1", "software": "edge-1", "retry": "edge-1",
		"cancel": "edge-1", "pause": "edge-1", "resume": "edge-1", "patch": "edge-1", "backup": "edge-1 --name=b", "backups": "", "restore": "edge-1 --from=b --yes",
		"hosts": "", "hosts reset": "host-1 --yes", "hosts attach": "host-1", "hosts import": "../../docs/examples/hosts/hosts.yaml", "plugins test": "edge-1 multus", "depot images-in-use": "", "depot gc": "", "depot usage": "",
		"events": "edge-1", "logs": "edge-1", "diff": "-f ../../config/samples/provisioning.yaml", "env": "edge-1",
		"check": "-f ../../config/samples/provisioning.yaml", "check hosts": "", "check site": "", "adopt": "edge-1", "create": "edge-1 --control-planes=1", "scale": "edge-1 --set=pool=2", "upgrade": "edge-1 --to=1.35.5",
	}
	local := []string{"plugins", "plugins show", "plugins push", "bundle create", "bundle inspect", "bundle import", "bundle export", "bundle diff", "options"}
	for _, cmd := range leaves(newRoot(genericclioptions.NewConfigFlags(true), &session{})) {
		name := strings.TrimPrefix(cmd.CommandPath(), "kubectl bpa ")
		options, talks := commands[name]
		if slices.Contains(local, name) {
			continue
		}
		if !talks {
			t.Errorf("the test does not know whether %q talks to the API server", name)
			continue
		}
		var mu sync.Mutex
		users := map[string]int{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			users[r.Header.Get("Impersonate-User")]++
			mu.Unlock()
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, http.StatusForbidden)
		}))
		args := append(append(strings.Fields(name), strings.Fields(options)...), "--as=alice", "--server", server.URL)
		Run(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &strings.Builder{}, ErrOut: &strings.Builder{}})
		server.Close()
		if users["alice"] == 0 || len(users) != 1 {
			t.Errorf("%v: requests by user %v, want all as alice", args, users)
		}
	}
}

// TestUnknownCommand: a typing error gets the command that was perhaps meant.
func TestUnknownCommand(t *testing.T) {
	w := newTerminal(t)
	w.expect(w.run(t.Context(), "histroy"), codeUsage, "did you mean history?")
	w.expect(w.run(t.Context(), "status", "--help"), codeDone, "kubectl bpa options")
	if strings.Contains(w.text(), "--as-group") {
		t.Errorf("the help of a command lists kubectl's flags:\n%s", w.text())
	}
	w.expect(w.run(t.Context(), "options"), codeDone, "--as-group")
}
