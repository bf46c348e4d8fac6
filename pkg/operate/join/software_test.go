package join_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// softwareNodes answers the playbooks of package software: the nodes have what was installed on them, and
// broken fails everywhere. It records the playbooks with their nodes.
func softwareNodes(w *kubespraytest.Fixture, played *[]string) {
	has := map[string]string{}
	kubespray := w.Play
	w.Play = func(c process.Command, stdout, stderr io.Writer) int {
		name, limit := c.Args[len(c.Args)-1], ""
		if i := slices.Index(c.Args, "--limit"); i > 0 {
			limit = c.Args[i+1]
		}
		*played = append(*played, strings.TrimSpace(name+" "+limit))
		if name != "look.yml" && name != "apply.yml" {
			return kubespray(c, stdout, stderr)
		}
		raw, err := os.ReadFile(strings.TrimPrefix(c.Args[slices.Index(c.Args, "-e")+1], "@"))
		var vars struct {
			Requests map[string]string `json:"software_requests"`
			Answers  string            `json:"software_answers"`
		}
		if err != nil || json.Unmarshal(raw, &vars) != nil {
			w.T.Errorf("variables %s, %v", raw, err)
		}
		for node, text := range vars.Requests {
			plain, _ := base64.StdEncoding.DecodeString(text)
			errs := map[string]string{}
			for _, action := range strings.Split(string(plain), `"do":"install","name":"`)[1:] {
				if name, _, _ := strings.Cut(action, `"`); name == "broken" {
					errs[name] = "no space left"
				} else {
					has[node+name] = "1.0"
				}
			}
			answer, _ := json.Marshal(map[string]any{"manager": "apt", "architecture": "amd64", "errors": errs, "packages": map[string]any{
				"tool": map[string]string{"native": has[node+"tool"], "candidate": "1.0"}, "broken": map[string]string{"candidate": "1.0"}}})
			if err := os.WriteFile(filepath.Join(vars.Answers, node), []byte(base64.StdEncoding.EncodeToString(answer)), 0o600); err != nil {
				w.T.Error(err)
			}
		}
		fmt.Fprintln(stdout, `{"_event":"v2_playbook_on_stats","stats":{"master-1":{"ok":1}}}`)
		return 0
	}
}

// New machines get their software before the playbook, and a package that fails stops nothing.
func TestSoftwareOfNewMachines(t *testing.T) {
	w := kubespraytest.New(t, 1)
	var played []string
	softwareNodes(w, &played)
	w.In.Request.Software = &contract.SoftwareRun{Packages: []contract.Software{
		{Name: "broken", Workers: true}, {Name: "tool", ControlPlanes: true, Workers: true, Disruption: contract.DisruptionDrain},
	}}
	record := &sessiontest.Memory{}
	ports := w.Ports()
	ports.Software = record
	if _, err := kubespray.Run(t.Context(), w.In, ports); err != nil {
		t.Fatal(err)
	}
	if want := []string{"look.yml master-1,worker-1", "apply.yml master-1,worker-1", "cluster.yml"}; !slices.Equal(played, want) {
		t.Errorf("playbooks %q, want %q", played, want)
	}
	text := record.Data[contract.KeySoftware]
	for _, want := range []string{`"name":"broken","state":"Failed"`, "no space left", `"name":"tool","installed":"1.0","state":"Installed"`, `"node":"master-1"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the record has no %s: %s", want, text)
		}
	}
	files, _ := os.ReadFile(filepath.Join(w.In.ScratchDir, "extra-vars.json"))
	if strings.Contains(string(files), "software_requests") {
		t.Error("the playbook of kubespray gets the variables of the software")
	}
}

// Members of the cluster are left to the task install-software. Without the ConfigMap, the run goes on.
func TestSoftwareStopsNoRun(t *testing.T) {
	for _, tc := range []struct {
		name   string
		member bool
		broken error
	}{{"a member", true, nil}, {"no ConfigMap", false, errors.New("not found")}} {
		t.Run(tc.name, func(t *testing.T) {
			w := kubespraytest.New(t, 0)
			var played []string
			softwareNodes(w, &played)
			w.In.Request.Software = &contract.SoftwareRun{Packages: []contract.Software{{Name: "tool", ControlPlanes: true}}}
			if tc.member {
				w.In.Request.Members = w.In.Nodes
			}
			ports := w.Ports()
			ports.Software = &sessiontest.Memory{Err: tc.broken}
			if _, err := kubespray.Run(t.Context(), w.In, ports); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(played, []string{"cluster.yml"}) {
				t.Errorf("playbooks %q", played)
			}
		})
	}
}
