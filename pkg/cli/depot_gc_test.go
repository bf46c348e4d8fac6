package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/settings"
)

func sendDepot(t *testing.T, want int, method, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != want {
		t.Fatalf("%s %s = %d, want %d", method, url, resp.StatusCode, want)
	}
}

// TestDepotOfTheSite: without --depot, usage and gc use the depot that ConfigMap config-bpa names, with its CA.
func TestDepotOfTheSite(t *testing.T) {
	d := depottest.Start(t)
	run := func(data map[string]string, code int, args string, texts ...string) {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: data}
		w := newTerminal(t, cm)
		w.expect(w.run(t.Context(), strings.Fields(args)...), code, texts...)
	}
	named := map[string]string{"depot-url": d.URL, "depot-insecure": "true"}
	run(named, codeDone, "depot usage", "in the depot")
	run(named, codeDone, "depot gc", "freed 0 B")
	run(map[string]string{"depot-url": "internet"}, codeUsage, "depot usage", "--depot is missing", "ConfigMap config-bpa", "names none")
	run(map[string]string{"depot-url": "internet"}, codeDone, "depot usage --depot "+d.URL, "in the depot")
	run(map[string]string{}, codeFailed, "depot gc", "depot-url", "or name the depot with --depot")

	w := newTerminal(t)
	ca := filepath.Join(t.TempDir(), "none.crt")
	w.expect(w.run(t.Context(), "depot", "usage", "--depot", d.URL, "--depot-ca", ca), codeFailed, "--depot-ca", "none.crt")
	f := depotFlags{caFile: "own.crt"}
	f.use(settings.Depot{URL: "https://depot", CA: "PEM"})
	if f.url != "https://depot" || f.ca != "PEM" || f.caFile != "own.crt" {
		t.Errorf("the flags with the settings are %+v", f)
	}
}

func TestDepotUsageAndGC(t *testing.T) {
	d := depottest.Start(t)
	artifacts := d.URL + "/v1/baremetalcluster/edge/c/os_images/"
	sendDepot(t, http.StatusCreated, "PUT", artifacts+"kept/content", "kept")
	sendDepot(t, http.StatusCreated, "PUT", artifacts+"gone/content", strings.Repeat("g", 5000))
	sendDepot(t, http.StatusNoContent, "DELETE", artifacts+"gone", "")
	run := func(code int, args string, texts ...string) {
		t.Helper()
		w := newTerminal(t)
		w.expect(w.run(t.Context(), append(strings.Fields(args), "--depot", d.URL)...), code, texts...)
	}
	run(codeDone, "depot usage", "KIND", "os_images", "unreferenced", "gc frees it", "OWNER", "edge", "free on the disk")
	run(codeDone, "depot usage -o jsonpath={.kind}", "DepotUsageReport")
	run(codeDone, "depot gc", "freed", "stay for now", "24h0m0s")
	run(codeDone, "depot gc --grace 0s --dry-run", "would free", "1 blobs and 0 images")
	run(codeDone, "depot gc --grace 0s", "freed", "1 blobs and 0 images", "read ")
	run(codeDone, "depot gc --grace 0s", "freed 0 B: 0 blobs and 0 images")
	sendDepot(t, http.StatusOK, "GET", artifacts+"kept/content", "")

	run(codeUsage, "depot gc --dry-run=client", "use server or none")
	list := filepath.Join(t.TempDir(), "keep.txt")
	if err := os.WriteFile(list, []byte("sha256:"+strings.Repeat("a", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(codeFailed, "depot gc --keep "+list, "was started") // the depot is young
	run(codeDone, "depot gc --dry-run --keep "+list, "would free")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(list, old, old); err != nil {
		t.Fatal(err)
	}
	run(codeFailed, "depot gc --keep "+list, "write it again")
}
