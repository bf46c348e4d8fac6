//go:build integration

package integration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ironicSite is a real depot, and a real Ironic that installs the machines of a rack. startMetal3
// starts Metal3 separately.
type ironicSite struct {
	dir, venv string
	endpoint  string // URL of Ironic, without a trailing slash
	depot     *imageDepot
	other     *imageDepot // a depot whose CA Ironic does not trust
	rack      *ironicRack
}

func newIronicSite(t *testing.T, machines ...string) *ironicSite {
	t.Helper()
	dir := t.TempDir()
	s := &ironicSite{dir: dir, venv: ironicPrograms(t)}
	s.rack = newRack(t, dir, s.venv, filepath.Join(dir, "http"), machines...)
	program := filepath.Join(dir, "depot")
	command(t, "go", "build", "-o", program, "../../cmd/depot")
	s.depot, s.other = startImageDepot(t, program), startImageDepot(t, program)
	s.rack.config = filepath.Join(dir, "agent.conf")
	if err := os.WriteFile(s.rack.config, []byte("[DEFAULT]\ncafile = "+s.depot.ca+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.startIronic(t)
	return s
}

// ironicPrograms installs the packages in test/ironic/requirements.txt to a cache on this machine,
// and returns their folder. If they are installed already, it only returns the folder.
func ironicPrograms(t *testing.T) (venv string) {
	t.Helper()
	const requirements = "../ironic/requirements.txt"
	text, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	venv = filepath.Join(filepath.Dir(bin), "cache", "ironic", hex.EncodeToString(sum[:6]))
	complete := filepath.Join(venv, "whole") // exists after a complete installation
	if _, err := os.Stat(complete); err == nil {
		return venv
	}
	command(t, "python3", "-m", "venv", "--clear", venv)
	command(t, filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--no-deps", "--require-hashes", "--requirement", requirements)
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return venv
}

// startIronic creates Ironic's database, and runs its API and conductor in one process, as Metal3
// does.
func (s *ironicSite) startIronic(t *testing.T) {
	t.Helper()
	port := anyPort(t)
	s.endpoint = "http://" + net.JoinHostPort(rackAddress, port)
	template, err := os.ReadFile("../ironic/ironic.conf")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(s.dir, "ironic.conf")
	text := strings.NewReplacer("{address}", rackAddress, "{port}", port, "{dir}", s.dir, "{ca}", s.depot.ca).Replace(string(template))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"tmp", "http", "images", "master", "tftp", "tftp-master", "lock", "certificates"} {
		if err := os.MkdirAll(filepath.Join(s.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command(t, filepath.Join(s.venv, "bin", "ironic-dbsync"), "--config-file="+config, "create_schema")
	daemon(t, s.dir, "ironic", filepath.Join(s.venv, "bin", "ironic"), "--config-file="+config)
	awaitURL(t, s.endpoint+"/v1/drivers")
}

// command runs a program and returns its standard output. It fails the test if the program fails.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.Bytes(), log.Bytes())
	}
	return out.String()
}

// daemon starts a program. When the test ends, it kills the program and its child processes. The
// log is in dir.
func daemon(t *testing.T, dir, name, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"} // without variables that name additional trusted certificates
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the end of the log of %s:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
}

// awaitURL waits until a server answers a request with 200.
func awaitURL(t *testing.T, url string) {
	t.Helper()
	within(t, time.Minute, url+" answers", func() bool {
		response, err := http.Get(url)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// metal3Environment returns Metal3's environment variables for this Ironic. They name the kernel
// and the ramdisk in the depot. These files have no real content, because the machines of the rack
// do not read them.
func (s *ironicSite) metal3Environment(t *testing.T) []string {
	t.Helper()
	environment := []string{"IRONIC_ENDPOINT=" + s.endpoint + "/v1/"}
	for _, part := range []string{"kernel", "ramdisk"} {
		s.depot.put(t, "/files/ipa/"+part, []byte(part))
		environment = append(environment, "DEPLOY_"+strings.ToUpper(part)+"_URL=http://"+s.depot.plain+"/files/ipa/"+part)
	}
	return environment
}
