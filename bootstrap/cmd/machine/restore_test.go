package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/restore"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// detachedSite is an API server with three hosts, of which a restore has detached two, and a Provisioning that it has paused.
func detachedSite(t *testing.T) (api *kubernetes.Client, patches map[string]string) {
	t.Helper()
	const mark = `"bpa.akraino.org/restored-by-machine": "2026-11-27T12:00:00Z"`
	hosts := map[string]string{
		"free": `{"metadata": {"namespace": "a", "name": "free", "annotations": {` + mark + `, "baremetalhost.metal3.io/paused": "bpa-machine-restore"}}, "status": {"provisioning": {"state": "available"}}}`,
		"node": `{"metadata": {"namespace": "a", "name": "node", "annotations": {` + mark + `}}, "spec": {"online": true, "consumerRef": {"kind": "Provisioning", "namespace": "a", "name": "edge"}}}`,
		"own":  `{"metadata": {"namespace": "a", "name": "own", "annotations": {"baremetalhost.metal3.io/paused": ""}}}`,
	}
	patches = map[string]string{}
	crd := `{"spec": {"group": "%g", "names": {"plural": "%p"}, "versions": [{"name": "v1alpha1", "served": true}]}}`
	answers := map[string]string{
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/baremetalhosts.metal3.io":      strings.NewReplacer("%g", "metal3.io", "%p", "baremetalhosts").Replace(crd),
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/provisionings.bpa.akraino.org": strings.NewReplacer("%g", "bpa.akraino.org", "%p", "provisionings").Replace(crd),
		"/apis/bpa.akraino.org/v1alpha1/provisionings":                                          `{"items": [{"metadata": {"namespace": "a", "name": "edge", "annotations": {` + mark + `}}, "spec": {"paused": true}}, {"metadata": {"namespace": "a", "name": "resumed", "annotations": {` + mark + `}}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		switch {
		case r.Method == http.MethodPatch:
			text, _ := io.ReadAll(r.Body)
			patches[name] = string(text)
			hosts[name] = strings.ReplaceAll(hosts[name], "restored-by-machine", "gone")
		case name == "baremetalhosts":
			_, _ = io.WriteString(w, `{"items": [`+hosts["free"]+","+hosts["node"]+","+hosts["own"]+`]}`)
		case answers[r.URL.Path] != "":
			_, _ = io.WriteString(w, answers[r.URL.Path])
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return kubernetes.With(server.URL, server.Client()), patches
}

func TestHostsAreAttachedOneByOne(t *testing.T) {
	api, patches := detachedSite(t)
	var out bytes.Buffer
	if err := attachHosts(t.Context(), &out, api, nil, false); err != nil || len(patches) > 0 {
		t.Fatalf("%v, %v", err, patches)
	}
	for _, want := range []string{"2 of 3 hosts are detached by a restore", "a/free  available  -", "a/node  -          Provisioning a/edge", "has paused: a/edge."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if err := attachHosts(t.Context(), &out, api, []string{"a/free", "a/own"}, false); err == nil || !strings.Contains(err.Error(), "a/own, so nothing was changed") || len(patches) > 0 {
		t.Errorf("%v, %v", err, patches)
	}
	out.Reset()
	if err := attachHosts(t.Context(), &out, api, []string{"a/free"}, false); err != nil || !strings.Contains(out.String(), "a/free attached") || !strings.Contains(out.String(), "1 of 3 hosts") {
		t.Errorf("%v\n%s", err, out.String())
	}
	var patch struct {
		Metadata struct{ Annotations map[string]any }
	}
	if err := json.Unmarshal([]byte(patches["free"]), &patch); err != nil || len(patch.Metadata.Annotations) != 2 {
		t.Errorf("%s, %v", patches["free"], err)
	}
	out.Reset()
	if err := attachHosts(t.Context(), &out, api, nil, true); err != nil || !strings.Contains(out.String(), "No host waits") || patches["own"] != "" || patches["node"] == "" {
		t.Errorf("%v, %v\n%s", err, patches, out.String())
	}
	if _, err := runCommand(t, layout.Layout{Root: t.TempDir()}, "attach-hosts", "--all", "a/b"); err == nil || !strings.Contains(err.Error(), "not both") {
		t.Errorf("%v", err)
	}
}

func TestTheReportOfARestoreSaysWhatIsNext(t *testing.T) {
	made := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	report := restore.Report{
		Manifest: backup.Manifest{Machine: "3f9a1c2e", Time: made}, Paused: []string{"a/edge"}, Deleting: []string{"a/old"}, Missing: 2, Listed: 5, First: []string{"files/kubelet", "x"},
		Hosts: []restore.Host{{Namespace: "a", Name: "free", State: "available"}, {Namespace: "a", Name: "node", State: "provisioned", Consumer: "Provisioning a/edge", Image: "http://depot/os.raw", Online: true, Deleting: true}},
	}
	var out bytes.Buffer
	printReport(&out, layout.Layout{Root: "/srv"}, report, made.Add(50*time.Hour))
	for _, want := range []string{
		"machine 3f9a1c2e has the state of 2026-11-27T12:00:00Z, 50h0m0s ago", "/srv/before-restore", "lacks 2 of the 5 files that it had, such as files/kubelet, x",
		"All 2 hosts are detached", "a/node  provisioned  Provisioning a/edge  http://depot/os.raw  true    is being deleted", "Provisionings are paused: a/edge", "over SSH: a/old.", "machine start", "attach-hosts", "kubectl bpa resume", "machine restore-backups",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	out.Reset()
	printReport(&out, layout.Layout{Root: "/srv"}, restore.Report{Manifest: backup.Manifest{Machine: "3f9a1c2e", Time: made}}, made)
	for _, text := range []string{"0 hosts", "NAME", "Compare each host", "attach-hosts", "bpa resume", "restore-backups"} {
		if strings.Contains(out.String(), text) {
			t.Errorf("%q for a machine that has no host:\n%s", text, out.String())
		}
	}
	if !strings.Contains(out.String(), "The backup has no host.") || !strings.Contains(out.String(), "machine start") {
		t.Errorf("the report of a machine that has no host:\n%s", out.String())
	}
}

func TestRestoreNeedsItsKey(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	if _, err := runCommand(t, l, "restore", "/none.age"); err == nil || !strings.Contains(err.Error(), `"identity" not set`) {
		t.Errorf("%v", err)
	}
	if _, err := runCommand(t, l, "restore", "/none.age", "--identity", "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if left := tree(t, l.Root); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

// A restore that was interrupted is completed before anything starts, but never in the folder of somebody else, and
// never while a supervisor runs.
func TestAnInterruptedRestoreIsCompletedByTheStart(t *testing.T) {
	prepare := func() layout.Layout {
		l := layout.Layout{Root: t.TempDir()}
		write(t, l.RestoreDir("etcd", "db"), "new")
		write(t, l.RestoreDir("commit"), "")
		return l
	}
	foreign := prepare()
	if err := finishRestore(foreign); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(foreign.Data("etcd", "db")); err == nil {
		t.Error("a folder without a mark was changed")
	}
	l := prepare()
	if err := l.Claim(); err != nil {
		t.Fatal(err)
	}
	release, err := supervisor.Hold(paths(l))
	if err != nil {
		t.Fatal(err)
	}
	if err := finishRestore(l); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.Data("etcd", "db")); err == nil {
		t.Error("the data of a running etcd was replaced")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := runCommand(t, l, "start"); err == nil || !strings.Contains(err.Error(), "run `machine up`") { // there is no plan
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(l.Data("etcd", "db")); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}

// Without a name, the command lets kubectl-bpa ask the servers.
func TestAttachHostsAsksTheServers(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	if _, err := runCommand(t, l, "attach-hosts"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no server was asked") {
		t.Fatalf("%v", err)
	}
	if err := os.MkdirAll(filepath.Dir(l.Bin("kubectl-bpa")), 0o755); err != nil {
		t.Fatal(err)
	}
	for code, fails := range map[string]bool{"0": false, "3": false, "1": true} {
		if err := os.WriteFile(l.Bin("kubectl-bpa"), []byte("#!/bin/sh\necho asked \"$@\"\nexit "+code+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := runCommand(t, l, "attach-hosts")
		if want := "asked hosts attach -A --kubeconfig=" + l.Kubeconfig(); (err != nil) != fails || !strings.Contains(out, want) {
			t.Errorf("exit code %s: %v\n%s", code, err, out)
		}
	}
	if _, err := runCommand(t, l, "attach-hosts", "--list", "a/b"); err == nil || !strings.Contains(err.Error(), "leave out the names") {
		t.Errorf("%v", err)
	}
}
