package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// waitLimit is the maximum time of a wait. Every test needs much less.
const waitLimit = 20 * time.Second

// terminal collects the output of commands as a user's terminal does. It also holds the fake
// cluster that the commands use.
type terminal struct {
	t       *testing.T
	cluster client.WithWatch
	config  *rest.Config     // used for kinds that the fake cluster does not have
	own     string           // the user's kubeconfig
	typed   io.Reader        // what the user types; nil: nothing
	clock   func() time.Time // the time that the commands see

	mu     sync.Mutex
	out    bytes.Buffer
	errOut bytes.Buffer
	grown  chan struct{}

	// watching gets a value each time a watch is opened.
	watching chan struct{}
}

func newTerminal(t *testing.T, objects ...client.Object) *terminal {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	w := &terminal{t: t, clock: time.Now, own: filepath.Join(t.TempDir(), "config"), grown: make(chan struct{}, 1), watching: make(chan struct{}, 10)}
	// A site without a depot, if the test has no settings.
	if !slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetName() == settings.Name }) {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: map[string]string{"depot-url": "internet"}})
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.Provisioning{}, metav1.ObjectNameField, byName).Build()
	w.cluster = interceptor.NewClient(cluster, interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			opened, err := c.Watch(ctx, list, opts...)
			w.watching <- struct{}{}
			return opened, err
		},
	})
	return w
}

// Write implements io.Writer: a terminal is the output of a command.
func (w *terminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.grown <- struct{}{}:
	default:
	}
	return w.out.Write(p)
}

func (w *terminal) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

// await waits until the output contains the text.
func (w *terminal) await(text string) {
	w.t.Helper()
	limit := time.After(waitLimit)
	for !strings.Contains(w.text(), text) {
		select {
		case <-w.grown:
		case <-limit:
			w.t.Fatalf("%q did not appear in:\n%s", text, w.text())
		}
	}
}

// awaitWatch waits until a watch is open. A change before that would be lost: unlike a real API
// server, the fake one does not send changes that happened between list and watch.
func (w *terminal) awaitWatch() {
	w.t.Helper()
	select {
	case <-w.watching:
	case <-time.After(waitLimit):
		w.t.Fatalf("no watch was opened; printed:\n%s", w.text())
	}
}

// run runs a command and returns its exit code.
func (w *terminal) run(ctx context.Context, args ...string) int {
	streams := genericiooptions.IOStreams{In: cmp.Or(w.typed, io.Reader(strings.NewReader(""))), Out: w, ErrOut: &w.errOut}
	root := newRoot(genericclioptions.NewConfigFlags(true), &session{
		IOStreams: streams,
		now:       w.clock,
		dial:      onLoopback,
		here:      goodMachine,
		pace:      time.Millisecond,
		connect: func() (*site, error) {
			access := &clientcmd.PathOptions{GlobalFile: w.own, LoadingRules: &clientcmd.ClientConfigLoadingRules{ExplicitPath: ""}}
			return &site{client: w.cluster, config: w.config, namespace: "site-a", access: access}, nil
		},
	})
	root.SetArgs(args)
	return finish(root.ExecuteContext(ctx), streams)
}

// start runs a command in the background. The command's exit code is sent to the channel.
func (w *terminal) start(args ...string) <-chan int {
	ctx, cancel := context.WithTimeout(w.t.Context(), waitLimit)
	w.t.Cleanup(cancel)
	code := make(chan int, 1)
	go func() { code <- w.run(ctx, args...) }()
	return code
}

func (w *terminal) expect(code int, want int, texts ...string) {
	w.t.Helper()
	all := w.text() + w.errOut.String()
	if code != want {
		w.t.Errorf("exit code %d, want %d; printed:\n%s", code, want, all)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			w.t.Errorf("%q is not in:\n%s", text, all)
		}
	}
}

// change edits the Provisioning as the controller does.
func (w *terminal) change(p *v1alpha1.Provisioning, edit func(*v1alpha1.Provisioning)) {
	w.t.Helper()
	if err := w.cluster.Get(w.t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		w.t.Fatal(err)
	}
	edit(p)
	if err := w.cluster.Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

func provisioning(name string) *v1alpha1.Provisioning {
	return &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "site-a", UID: "1", Generation: 1, CreationTimestamp: metav1.NewTime(created),
	}}
}

func isReady(p *v1alpha1.Provisioning) {
	p.Status.ObservedGeneration = p.Generation
	p.Status.MarkHostsClaimed(corev1.ConditionTrue, "", "")
	p.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "x", "")
	p.Status.MarkClusterInstalled(corev1.ConditionTrue, "", "3 nodes are Ready")
	p.Status.MarkKubeconfigReady(corev1.ConditionTrue, "", "")
}

func hasFailed(p *v1alpha1.Provisioning) {
	p.Status.ObservedGeneration = p.Generation
	p.Status.Failure = &v1alpha1.FailureStatus{Reason: "PlaybookFailed", Task: "kubespray", Host: "worker-1", Message: "no space left"}
	p.Status.MarkClusterInstalled(corev1.ConditionFalse, "PlaybookFailed", "run edge-1-install-1 failed in kubespray on worker-1 (PlaybookFailed): see status.failure")
}

func installs(step string) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) {
		p.Status.ObservedGeneration = p.Generation
		p.Status.Run = &v1alpha1.RunStatus{Name: p.Name + "-install-1", Operation: "install", Attempt: 1, StartTime: &metav1.Time{Time: time.Now()}}
		p.Status.Progress = &v1alpha1.ProgressStatus{Percent: int32(len(step)), Task: "kubespray", Step: step}
	}
}

func TestWatchUntilReady(t *testing.T) {
	p := provisioning("edge-1")
	w := newTerminal(t, p, provisioning("edge-2"))
	code := w.start("watch", "edge-1")
	w.await("has not seen this version")
	w.awaitWatch()
	w.change(p, installs("download"))
	w.await("8%  kubespray: download")
	w.change(p, isReady)
	w.expect(<-code, codeDone, "ClusterInstalled: 3 nodes are Ready", "edge-1 is ready", "kubectl bpa kubeconfig edge-1 -n site-a")
}

func TestWatchUntilFailed(t *testing.T) {
	p := provisioning("edge-1")
	w := newTerminal(t, p)
	code := w.start("watch")
	w.awaitWatch()
	w.change(p, hasFailed)
	w.expect(<-code, codeFailed, "PlaybookFailed", "worker-1", "no space left", "kubectl bpa retry edge-1 -n site-a")
}

// A stalled Provisioning ends the watch as failed, with or without a failed run.
func TestWatchUntilStalled(t *testing.T) {
	for reason, message := range map[string]string{
		"SpecChanged":   "the spec was edited. What to do: put it back",
		"BadSettings":   "ConfigMap bpa-system/config-bpa: fix it",
		"DepotRefused":  "the address is plain HTTP: write its https address",
		"SSHKeyInvalid": "Secret ssh-key, key ssh-privatekey is empty",
		"HostsLost":     "the control plane lost host-1",
	} {
		for name, before := range map[string]func(*v1alpha1.Provisioning){
			"first": func(*v1alpha1.Provisioning) {},
			"after a run that is tried again": func(p *v1alpha1.Provisioning) {
				p.Status.Failure = &v1alpha1.FailureStatus{Reason: "HostUnreachable", Message: "no route", NextAttempt: &metav1.Time{Time: created}}
			},
			"after a retry": func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationRetry: "1"} },
		} {
			t.Run(reason+" "+name, func(t *testing.T) {
				p := provisioning("edge-1")
				before(p)
				p.Status.ObservedGeneration = p.Generation
				p.Status.MarkClusterInstalled(corev1.ConditionFalse, reason, message)
				p.Status.MarkStalled(reason, message)
				w := newTerminal(t, p)
				w.expect(w.run(t.Context(), "watch", "edge-1", "--timeout=20s"), codeFailed, "edge-1 is stalled", reason, message)
				w.expect(w.run(t.Context(), "status", "edge-1"), codeDone, "NEXT\n  A user must act before it continues: "+reason+"\n  "+message)
			})
		}
	}
}

// While a run is active, the verdict is underway even if the Provisioning is stalled, because the
// end of the run decides.
func TestStalledWithARunIsUnderway(t *testing.T) {
	p := provisioning("edge-1")
	installs("download")(p)
	p.Status.MarkStalled("InvalidSpec", "spec.ssh is wrong")
	if got := verdictOf(p); got != underway {
		t.Errorf("verdict %d, want underway", got)
	}
}

func TestWatchOfOneThatIsReadyAlreadyEnds(t *testing.T) {
	p := provisioning("edge-1")
	isReady(p)
	w := newTerminal(t, p)
	w.expect(w.run(t.Context(), "watch", "edge-1"), codeDone, "edge-1 is ready")
}

func TestWatchTimesOut(t *testing.T) {
	p := provisioning("edge-1")
	installs("download")(p)
	w := newTerminal(t, p)
	w.expect(w.run(t.Context(), "watch", "edge-1", "--timeout=50ms"), codeTimeout, "timeout of 50ms", "last seen: kubespray: download")
}

func TestWatchIsInterrupted(t *testing.T) {
	w := newTerminal(t, provisioning("edge-1"))
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- w.run(ctx, "watch", "edge-1") }()
	w.await("has not seen this version")
	cancel()
	w.expect(<-code, codeInterrupted, "interrupted")
}

func TestWatchOfOneThatIsDeletedEnds(t *testing.T) {
	p := provisioning("edge-1")
	w := newTerminal(t, p)
	code := w.start("watch", "edge-1")
	w.awaitWatch()
	if err := w.cluster.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.expect(<-code, codeFailed, "edge-1 was deleted")
}

func TestWatchGoesOnWhenTheServerClosesIt(t *testing.T) {
	p := provisioning("edge-1")
	w := newTerminal(t, p)
	var opened int
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			opened++ // the reflector never opens two watches at the same time
			switch opened {
			case 1: // this watch ends immediately, as if the API server restarted
				stub := watch.NewRaceFreeFake()
				stub.Stop()
				return stub, nil
			case 2: // the API server is still down
				return nil, errors.New("connection refused")
			}
			return c.Watch(ctx, list, opts...)
		},
	})
	code := w.start("watch", "edge-1")
	w.awaitWatch()
	w.change(p, isReady)
	w.expect(<-code, codeDone, "edge-1 is ready")
}

func TestWatchWithoutTheRightToWatch(t *testing.T) {
	w := newTerminal(t, provisioning("edge-1"))
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return forbidden("list")
		},
	})
	w.expect(<-w.start("watch", "edge-1"), codeFailed, "cannot list", "Your account lacks this right in namespace site-a")
}

func forbidden(verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "bpa.akraino.org", Resource: "provisionings"}, "edge-1", fmt.Errorf("user jane cannot %s", verb))
}

func TestClearErrors(t *testing.T) {
	failing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		}}
	}
	noKind := &meta.NoKindMatchError{GroupKind: v1alpha1.SchemeGroupVersion.WithKind("Provisioning").GroupKind(), SearchedVersions: []string{"v1alpha1"}}
	for _, tt := range []struct {
		name  string
		there []client.Object
		funcs interceptor.Funcs
		args  []string
		code  int
		want  string
	}{
		{name: "no such name", there: []client.Object{provisioning("edge-2"), provisioning("edge-1")}, args: []string{"watch", "edge-9"},
			code: codeFailed, want: `no Provisioning "edge-9" in namespace site-a: there are edge-1, edge-2`},
		{name: "none at all", args: []string{"status", "edge-9"}, code: codeFailed, want: "nor any other"},
		{name: "none to choose", args: []string{"watch"}, code: codeFailed, want: "no Provisioning in namespace site-a"},
		{name: "several to choose", there: []client.Object{provisioning("a"), provisioning("b")}, args: []string{"watch"}, code: codeUsage, want: "name one: a, b"},
		{name: "not installed", funcs: failing(noKind), args: []string{"kubeconfig", "edge-1"}, code: codeFailed, want: "does not have the kind Provisioning"},
		{name: "no right", funcs: failing(forbidden("get")), args: []string{"status", "edge-1"}, code: codeFailed, want: "user jane cannot get"},
		{name: "not logged in", funcs: failing(apierrors.NewUnauthorized("Unauthorized")), args: []string{"status", "edge-1"}, code: codeFailed, want: "does not accept your credentials"},
		{name: "wrong command", args: []string{"wach"}, code: codeUsage, want: `unknown command "wach"`},
		{name: "wrong flag", args: []string{"watch", "--for=ever"}, code: codeUsage, want: "unknown flag: --for"},
		{name: "two names", args: []string{"watch", "a", "b"}, code: codeUsage, want: "expected one NAME"},
		{name: "no name", args: []string{"kubeconfig"}, code: codeUsage, want: "NAME is missing"},
		{name: "negative timeout", args: []string{"watch", "a", "--timeout=-1s"}, code: codeUsage, want: "--timeout is -1s"},
		{name: "two places", args: []string{"kubeconfig", "a", "--merge", "--to", "f"}, code: codeUsage, want: "exclude each other"},
		{name: "retry of no such name", there: []client.Object{provisioning("edge-1")}, args: []string{"retry", "edge-9"}, code: codeFailed, want: "there are edge-1"},
		{name: "cancel of no such name", there: []client.Object{provisioning("edge-1")}, args: []string{"cancel", "edge-9"}, code: codeFailed, want: "there are edge-1"},
		{name: "pause of no such name", there: []client.Object{provisioning("edge-1")}, args: []string{"pause", "edge-9"}, code: codeFailed, want: "there are edge-1"},
		{name: "resume of no such name", there: []client.Object{provisioning("edge-1")}, args: []string{"resume", "edge-9"}, code: codeFailed, want: "there are edge-1"},
		{name: "history of no such name", there: []client.Object{provisioning("edge-1")}, args: []string{"history", "edge-9"}, code: codeFailed, want: "there are edge-1"},
		{name: "retry without a name", there: []client.Object{provisioning("edge-1")}, args: []string{"retry"}, code: codeUsage, want: "NAME is missing"},
		{name: "a time without a watch", args: []string{"retry", "a", "--timeout=1s"}, code: codeUsage, want: "--timeout needs --wait"},
		{name: "a wrong format", args: []string{"history", "a", "-o", "xml"}, code: codeUsage, want: "the formats are json, yaml"},
		{name: "merge's flag without merge", args: []string{"kubeconfig", "a", "--overwrite"}, code: codeUsage, want: "need --merge"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTerminal(t, tt.there...)
			w.cluster = interceptor.NewClient(w.cluster, tt.funcs)
			w.expect(w.run(t.Context(), tt.args...), tt.code, "error: ", tt.want)
		})
	}
}

// A wrong time of --timeout is refused before the command does anything.
func TestTimeoutIsChecked(t *testing.T) {
	for _, tc := range []struct{ command, waits string }{
		{"watch a", ""}, {"cancel a", ""}, {"plugins test a multus", ""}, {"backup a", "--wait"}, {"patch a", "--wait"},
		{"restore a --from b", "--wait"}, {"retry a", "--wait"}, {"kubeconfig a", "--rotate"},
	} {
		t.Run(tc.command, func(t *testing.T) {
			args := strings.Fields(tc.command)
			w := newTerminal(t)
			w.expect(w.run(t.Context(), append(args, "--timeout=-1s")...), codeUsage, "--timeout is -1s")
			if tc.waits != "" {
				w = newTerminal(t)
				w.expect(w.run(t.Context(), append(args, "--timeout=1s")...), codeUsage, "--timeout needs "+tc.waits)
				w = newTerminal(t)
				if code := w.run(t.Context(), append(args, "--timeout=1s", tc.waits)...); code == codeUsage {
					t.Errorf("with %s: exit code %d, %s", tc.waits, code, &w.errOut)
				}
			}
		})
	}
}

func TestNoServerIsExplained(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	// Port 9 belongs to the discard service, which does not run on test machines, so the connection
	// is refused.
	if err := os.WriteFile(kubeconfig, []byte(kubeconfigOf("https://127.0.0.1:9")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code := Run(t.Context(), []string{"status", "edge-1", "--kubeconfig", kubeconfig}, genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	if code != codeFailed || !strings.Contains(errOut.String(), "does not answer") {
		t.Errorf("exit code %d, %s", code, errOut.String())
	}
}

func TestHelpListsTheExitCodes(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"watch", "--help"}, {}} {
		w := newTerminal(t)
		w.expect(w.run(t.Context(), args...), codeDone, "Exit codes:", "124  the time of --timeout is over", "kubectl bpa")
	}
}

func TestStatusOfOneAndOfSeveral(t *testing.T) {
	w := newTerminal(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "status"), codeDone, "edge-1  (namespace site-a", "NEXT")
	w = newTerminal(t, provisioning("edge-2"), provisioning("edge-1"))
	w.expect(w.run(t.Context(), "get"), codeDone, "NAME", "edge-1", "edge-2", "Unknown")
}

func TestWatchOfOneThatVanishesBeforeTheWatchEnds(t *testing.T) {
	p := provisioning("edge-1")
	w := newTerminal(t, p)
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return errors.Join(c.Get(ctx, key, obj, opts...), c.Delete(ctx, p))
		},
	})
	w.expect(<-w.start("watch", "edge-1"), codeFailed, "edge-1 was deleted")
}
