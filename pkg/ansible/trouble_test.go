package ansible

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedTrouble classifies recorded events, which ansible-core wrote for real failures.
func TestRecordedTrouble(t *testing.T) {
	want := map[string]Trouble{
		"Download from a server that is overloaded": Download,
		"Download from a server without the file":   Lasting,
		"Download from a server that is down":       Download,
		"Download from a slow server":               Download,
		"Download another file than expected":       Lasting,
		"Ask a server that is down":                 TimedOut,
		"Ask a server that fails":                   TimedOut,
		"Ask a server that refuses":                 Lasting,
		"Wait for a port":                           TimedOut,
		"Wait for a file":                           TimedOut,
		"Run for too long":                          TimedOut,
		"Run longer than the task may":              TimedOut,
		"Run what fails":                            "",
	}
	got := map[string]Trouble{}
	for _, e := range recorded(t, "trouble") {
		if e.Kind == Failed {
			got[e.Task] = e.Trouble
		}
		if e.Task == "Download from a server that is overloaded" && e.Kind == Failed && e.Message != "Request failed: HTTP Error 503: Service Unavailable" {
			t.Errorf("message %q, want it to contain the server's answer", e.Message)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTrouble classifies messages of modules of ansible-core 2.18 and of the programs that these
// modules run. Recorded events are in testdata/trouble.jsonl.
func TestTrouble(t *testing.T) {
	for _, test := range []struct {
		module, result string
		want           Trouble
	}{
		// kubespray's download_file.yml
		{"get_url", `"msg": "Request failed", "response": "HTTP Error 503: Service Unavailable", "status_code": 503`, Download},
		{"get_url", `"msg": "Request failed", "response": "HTTP Error 429: Too Many Requests", "status_code": 429`, Download},
		{"get_url", `"msg": "Request failed", "response": "HTTP Error 404: Not Found", "status_code": 404`, Lasting},
		{"get_url", `"msg": "Connection failure: timed out"`, Download},
		{"get_url", `"msg": "Connection failure: The read operation timed out"`, Download},
		{"get_url", `"msg": "Request failed: <urlopen error [Errno 111] Connection refused>"`, Download},
		{"get_url", `"msg": "Request failed: <urlopen error [Errno -3] Temporary failure in name resolution>"`, Download},
		{"get_url", `"msg": "Request failed: <urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1000)>"`, Lasting},
		{"get_url", `"msg": "The checksum for /tmp/x did not match 6d2e; it was 6972."`, Lasting},
		{"get_url", `"msg": "Destination /tmp/releases is not writable"`, ""},
		// kubespray's download_container.yml, which runs nerdctl or crictl, and the preflight
		// checks of kubeadm
		{"command", `"msg": "non-zero return code", "stderr": "time=\"2026-11-22T01:00:00Z\" level=fatal msg=\"failed to resolve reference \\\"depot/pause:3.10\\\": failed to do request: Head \\\"https://depot/v2/pause/manifests/3.10\\\": dial tcp 10.60.0.1:5443: connect: connection refused\""`, Download},
		{"command", `"msg": "non-zero return code", "stderr": "E1122 01:00:00 remote_image.go:180] PullImage failed\nFATA[0030] pulling image: failed to pull and unpack image: failed to copy: httpReadSeeker: failed open: failed to do request: Get \"https://depot/v2/x\": net/http: TLS handshake timeout"`, Download},
		{"command", `"msg": "non-zero return code", "stderr": "FATA[0001] pulling image: failed to resolve image: unexpected status from HEAD request to https://depot/v2/x/manifests/1: 503 Service Unavailable"`, Download},
		{"command", `"msg": "non-zero return code", "stderr": "FATA[0001] pulling image: failed to resolve image: depot/x:1: not found"`, Lasting},
		{"command", `"msg": "non-zero return code", "stderr": "failed to pull image: failed to do request: Head https://depot: tls: failed to verify certificate: x509: certificate signed by unknown authority"`, Lasting},
		{"command", `"msg": "non-zero return code", "stderr": "failed to pull image: failed to copy: httpReadSeeker: unexpected EOF: write /var/lib/containerd/x: no space left on device"`, Lasting},
		{"shell", `"msg": "non-zero return code", "stderr": "[ERROR ImagePull]: failed to pull image registry.k8s.io/pause:3.10: dial tcp: lookup registry.k8s.io on 10.0.0.2:53: server misbehaving"`, Download},
		{"command", `"msg": "non-zero return code", "stderr": "The connection to the server localhost:8080 was refused - did you specify the right host or port?"`, ""},
		{"command", `"msg": "non-zero return code", "stderr": "error: timed out waiting for the condition on nodes/worker-1"`, TimedOut},
		// packages
		{"apt", `"msg": "'/usr/bin/apt-get -y install 'socat'' failed: E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\nE: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?"`, Locked},
		{"apt", `"msg": "Failed to lock apt for exclusive operation: Failed to lock directory /var/lib/apt/lists/: E:Could not get lock /var/lib/apt/lists/lock"`, Locked},
		{"raw", `"msg": "non-zero return code", "stdout": "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12 (apt-get)"`, Locked},
		{"dnf", `"msg": "yum lockfile is held by another process"`, Locked},
		{"package", `"msg": "Failed to update apt cache: unknown reason"`, Download},
		{"apt", `"msg": "'/usr/bin/apt-get -y install' failed: E: Failed to fetch http://depot/pool/s.deb  Could not connect to depot:80 (10.60.0.1). - connect (111: Connection refused)"`, Download},
		{"apt", `"msg": "'/usr/bin/apt-get -y install' failed: E: Failed to fetch http://depot/pool/s.deb  404  Not Found [IP: 10.60.0.1 80]"`, Lasting},
		{"apt", `"msg": "E: Failed to fetch http://depot/dists/Packages.gz  Hash Sum mismatch"`, Lasting},
		{"apt", `"msg": "No package matching 'socatt' is available"`, ""},
		{"dnf", `"msg": "Failed to download metadata for repo 'base': Curl error (28): Timeout was reached"`, Download},
		// waiting
		{"wait_for", `"msg": "Timeout when waiting for 10.0.0.1:6443"`, TimedOut},
		{"wait_for", `"msg": "Timeout when waiting for file /run/flannel/subnet.env"`, TimedOut},
		{"wait_for_connection", `"msg": "timed out waiting for ping module test: Data could not be sent"`, TimedOut},
		{"uri", `"msg": "Status code was -1 and not [200]: Request failed: <urlopen error [Errno 111] Connection refused>"`, TimedOut},
		{"uri", `"msg": "Status code was 500 and not [200]: HTTP Error 500: Internal Server Error"`, TimedOut},
		{"uri", `"msg": "Status code was 403 and not [200]: HTTP Error 403: Forbidden"`, Lasting},
		{"apt", `"msg": "async task did not complete within the requested time - 900s"`, TimedOut},
		{"apt", `"msg": "The apt action failed to execute in the expected time frame (60) and was terminated"`, TimedOut},
		// failures of which the cause is not known
		{"file", `"msg": "MODULE FAILURE: No start of json char found\nSee stdout/stderr for the exact error", "module_stdout": "", "module_stderr": "ModuleNotFoundError: x"`, ""},
		{"command", `"msg": "non-zero return code", "stderr": "error: deployments.apps \"x\" not found"`, ""},
		{"copy", `"msg": "Could not find or access '/tmp/x'"`, ""},
		// failures that a user must fix
		{"copy", `"msg": "[Errno 28] No space left on device: '/etc/x'"`, Lasting},
		{"shell", `"msg": "non-zero return code", "stderr": "write error: Disk quota exceeded"`, Lasting},
		{"command", `"msg": "non-zero return code", "stderr": "curl: (60) SSL certificate problem: unable to verify: x509: certificate has expired"`, Lasting},
		{"get_url", `"msg": "One or more items failed", "results": [{"failed": true, "msg": "Request failed", "status_code": 404}]`, Lasting},
		{"assert", `"msg": "Assertion failed"`, ""},
		{"fail", `"msg": "connection refused: i/o timeout"`, ""},
		{"command", `"censored": "the output has been hidden", "stderr": "Could not get lock /var/lib/dpkg/lock"`, ""},
		{"get_url", `"msg": "One or more items failed", "results": [{"failed": false}, {"failed": true, "msg": "Connection failure: timed out"}]`, Download},
	} {
		line := fmt.Sprintf(`{"_event":"v2_runner_on_failed","task":{"name":"x"},"hosts":{"worker-1":{"action":"ansible.builtin.%s","failed":true,%s}}}`, test.module, test.result)
		e, err := Parse([]byte(line))
		if err != nil {
			t.Errorf("%v in %s", err, line)
			continue
		}
		if e.Trouble != test.want {
			t.Errorf("%s %s: trouble %q, want %q", test.module, test.result, e.Trouble, test.want)
		}
		var f Findings
		f.See(e)
		f.See(Event{Kind: Stats, Stats: map[string]HostStats{"worker-1": {Failures: 1}}})
		if cause, bad := f.Cause(); !bad || cause.Trouble != test.want {
			t.Errorf("%s: the cause has trouble %q, want %q", test.module, cause.Trouble, test.want)
		}
	}
}
