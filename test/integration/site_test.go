//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

const (
	startLimit = 2 * time.Minute  // to start the API server, and to build and start the webhook
	callLimit  = 30 * time.Second // for one call of kubectl
	namespace  = "site"           // namespace of the tests' Provisionings
)

// labelled is the namespace of the tests' Provisionings, with the label that the README asks for.
const labelled = "{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + ", labels: {pod-security.kubernetes.io/enforce: restricted}}}"

// site contains the parts that all tests share: an API server with BPA's kinds, and BPA's webhook.
type site struct {
	dir        string
	kubectl    string // path of the program
	kubeconfig string // path of the administrator's kubeconfig
	webhook    *webhook
}

var shared site

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "bpa-integration-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)

	bin, err := programs()
	if err != nil {
		return 0, err
	}
	shared = site{dir: dir, kubectl: filepath.Join(bin, "kubectl")}
	stop, err := shared.startAPIServer(ctx, filepath.Join(bin, "machine"))
	if err != nil {
		return 0, err
	}
	defer stop()
	if err := shared.install(ctx); err != nil {
		return 0, err
	}
	if shared.webhook, err = newWebhook(ctx, &shared); err != nil {
		return 0, err
	}
	if err := shared.webhook.start(ctx); err != nil {
		return 0, err
	}
	defer shared.webhook.stop()
	return m.Run(), nil
}

// programs returns the folder with the programs of the bootstrap machine. The error says how to
// build them.
func programs() (string, error) {
	state := os.Getenv("BPA_STATE")
	if state == "" {
		state = "/var/lib/bpa"
	}
	bin := filepath.Join(state, "bin")
	for _, name := range []string{"machine", "etcd", "kube-apiserver", "kube-controller-manager", "kubectl"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("%w: run make integration, which builds it", err)
		}
	}
	return bin, nil
}

// startAPIServer starts an etcd and a kube-apiserver, which run until stop is called.
func (s *site) startAPIServer(ctx context.Context, machine string) (stop func(), err error) {
	cmd := exec.Command(machine, "apiserver", "--dir", filepath.Join(s.dir, "apiserver"))
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		hold.Close()
		_ = cmd.Wait()
	}
	ready := make(chan error, 1)
	go func() { ready <- s.awaitReady(out) }()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = fmt.Errorf("the API server: %w", ctx.Err())
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// awaitReady reads the path of the kubeconfig and the line READY from the output of machine.
func (s *site) awaitReady(out io.Reader) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "READY" {
			return nil
		}
		s.kubeconfig = lines.Text()
	}
	return fmt.Errorf("the API server exited before it was ready")
}

// install applies the manifests in config/ for the API, for claims and for the webhook. It does not
// apply the webhook's Deployment, because the webhook runs as a process, nor Metal3's CRDs.
func (s *site) install(ctx context.Context) error {
	for _, file := range []string{"100-namespace", "200-webhook", "300-backups", "300-provisionings", "300-softwares", "500-claims", "500-webhooks", "501-pod-security", "502-runs", "503-backup-keys", "config-logging"} {
		if out, err := s.run(ctx, nil, "apply", "--server-side", "-f", "../../config/"+file+".yaml"); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	if out, err := s.run(ctx, nil, "wait", "--for=condition=Established", "--timeout=30s", "crd/provisionings.bpa.akraino.org", "crd/backups.bpa.akraino.org", "crd/softwares.bpa.akraino.org"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if out, err := s.run(ctx, []byte(labelled), "create", "-f", "-"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// run runs kubectl as the administrator and returns its output, including warnings.
func (s *site) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.kubectl, append([]string{"--kubeconfig", s.kubeconfig, "--cache-dir", filepath.Join(s.dir, "cache")}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return string(out), err
}

// webhook is cmd/webhook, which runs as a process with the permissions of its service account.
type webhook struct {
	site       *site
	program    string
	kubeconfig string
	port       int
	log        string
	process    *exec.Cmd
}

func newWebhook(ctx context.Context, s *site) (*webhook, error) {
	w := &webhook{site: s, program: filepath.Join(s.dir, "webhook"), kubeconfig: filepath.Join(s.dir, "webhook.kubeconfig"), log: filepath.Join(s.dir, "webhook.log")}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", w.program, "../../cmd/webhook").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the webhook: %w\n%s", err, out)
	}
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:bpa-system:bpa-webhook"
	}
	if err := clientcmd.WriteToFile(*config, w.kubeconfig); err != nil {
		return nil, err
	}
	if w.port, err = freePort(); err != nil {
		return nil, err
	}
	return w, w.route(ctx)
}

// route makes the webhook's Service an alias of localhost, so that the API server calls the
// process.
func (w *webhook) route(ctx context.Context) error {
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: bpa-webhook, namespace: bpa-system}\nspec: {type: ExternalName, externalName: localhost}\n"
	if out, err := w.site.run(ctx, []byte(service), "apply", "-f", "-"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	patch := fmt.Sprintf(`[{"op": "add", "path": "/webhooks/0/clientConfig/service/port", "value": %d}]`, w.port)
	for _, config := range []string{"mutatingwebhookconfiguration/defaulting", "validatingwebhookconfiguration/validation", "validatingwebhookconfiguration/settings"} {
		if out, err := w.site.run(ctx, nil, "patch", config+".webhook.bpa.akraino.org", "--type=json", "-p", patch); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return nil
}

// start starts the webhook. It returns when the API server gets an answer from both handlers
// (defaulting and validation).
func (w *webhook) start(ctx context.Context) error {
	profiling, err := freePort()
	if err != nil {
		return err
	}
	log, err := os.Create(w.log)
	if err != nil {
		return err
	}
	defer log.Close()
	w.process = exec.Command(w.program)
	w.process.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "SYSTEM_NAMESPACE=bpa-system", "KUBERNETES_MIN_VERSION=v1.28.0",
		"WEBHOOK_PORT="+strconv.Itoa(w.port), "PROFILING_PORT="+strconv.Itoa(profiling))
	w.process.Stdout, w.process.Stderr = log, log
	if err := w.process.Start(); err != nil {
		return err
	}
	sample, err := os.ReadFile("../../config/samples/provisioning.yaml")
	if err != nil {
		return err
	}
	return w.awaitAnswer(ctx, sample)
}

func (w *webhook) awaitAnswer(ctx context.Context, sample []byte) error {
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	var last string // output of the last call that ctx did not interrupt
	for {
		out, err := w.site.run(ctx, sample, "create", "--dry-run=server", "-n", "default", "-f", "-")
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = out
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(w.log)
			return fmt.Errorf("timeout: the webhook does not answer: %s\nlog of the webhook:\n%s", last, log)
		}
	}
}

func (w *webhook) stop() {
	_ = w.process.Process.Kill()
	var exit *exec.ExitError
	if err := w.process.Wait(); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "webhook:", err)
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
