package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Client calls the API server on a control plane, and runs commands there. If its connection fails, it opens another
// one, possibly to another control plane.
type Client struct {
	Input  session.Input // whose nodes it asks and waits for
	Access node.Access
	conn   node.Connection      // nil: not connected
	kube   kubernetes.Interface // calls the API server through conn; nil: its kubeconfig is not read yet
	At     contract.Node        // the control plane to which conn is connected
	// Ends reports whether the run is asked to end (session.Input.Ends); nil: it never is. It then neither drains
	// another node nor waits for nodes that do not work.
	Ends func(context.Context) bool
}

func (w *Client) ends(ctx context.Context) bool { return w.Ends != nil && w.Ends(ctx) }

// Connect connects to the first control plane of the input that answers. If none does, it returns an error, and a
// Client that tries again with each query.
func Connect(ctx context.Context, in session.Input, access node.Access) (*Client, error) {
	conn, at, err := access.FirstControlPlane(ctx, in.Nodes)
	return &Client{Input: in, Access: access, conn: conn, At: at}, err
}

// Close closes the connection. The next query opens another one.
func (w *Client) Close() {
	if w.conn != nil {
		w.conn.Close()
	}
	w.conn, w.kube = nil, nil
}

// connect connects to a control plane, unless the watch is connected.
func (w *Client) connect(ctx context.Context) (err error) {
	if w.conn == nil {
		w.conn, w.At, err = w.Access.FirstControlPlane(ctx, w.Input.Nodes)
	}
	return err
}

// Ask runs kubectl and returns its output. It closes the connection if the command did not end
// normally, so that the next call opens a new one.
func (w *Client) Ask(ctx context.Context, arguments string, limit int) ([]byte, error) {
	return w.on(ctx, func(ctx context.Context) ([]byte, error) {
		return w.conn.Output(ctx, node.AsRoot(w.Input.Request, w.Input.KubectlOn(w.At)+arguments), limit)
	})
}

// on connects and runs one command, as ask does.
func (w *Client) on(ctx context.Context, run func(context.Context) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Input.ProbeLimit)
	defer cancel()
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	raw, err := run(ctx)
	var exit *ssh.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Close()
	}
	return raw, err
}

// Call calls the API server of the cluster, within Input.ProbeLimit. If nothing answers, it closes the connection, so that the
// next call opens a new one, unless the control plane still answers by SSH: then it is the API server that does
// not, and the error is of kind *SilentError.
func Call[T any](ctx context.Context, w *Client, do func(context.Context, kubernetes.Interface) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Input.ProbeLimit)
	defer cancel()
	if err := w.open(ctx); err != nil {
		return answer, err
	}
	answer, err = do(ctx, w.kube)
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return answer, err
	}
	if _, down := w.conn.Output(ctx, "true", 64<<10); down != nil {
		w.Close()
		return answer, fmt.Errorf("%w: %w", down, err)
	}
	return answer, &SilentError{err}
}

// Do is Call without an answer.
func (w *Client) Do(ctx context.Context, do func(context.Context, kubernetes.Interface) error) error {
	_, err := Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (struct{}, error) {
		return struct{}{}, do(ctx, kube)
	})
	return err
}

// SilentError is the error of a call to an API server that does not answer, on a control plane that does.
type SilentError struct{ err error }

func (e *SilentError) Error() string { return e.err.Error() }

// Unwrap returns the error of the call.
func (e *SilentError) Unwrap() error { return e.err }

// open connects to a control plane and reads the kubeconfig there, unless this is done.
func (w *Client) open(ctx context.Context) error {
	if err := w.connect(ctx); err != nil || w.kube != nil {
		return err
	}
	kube, err := appcluster.Through(ctx, w.conn, w.Input.Request, w.At, w.Input.ServerOf(w.At), w.Input.ProbeLimit)
	if err != nil {
		var exit *ssh.ExitError
		if !errors.As(err, &exit) {
			w.Close()
		}
		return err
	}
	w.kube = kube
	return nil
}
