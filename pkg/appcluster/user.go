package appcluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/access"
	clusteraccess "github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	// lifetime is the life of the certificate of a task's user. It is longer than a run with a long
	// spec.timeouts.install: a task that drains nodes can take hours. Without its binding, the user has
	// no rights, and the key is only in the memory of the task.
	lifetime = 24 * time.Hour
	// leaveWithin bounds the time to delete the user's rights. The pod is killed 30 s after the task was
	// cancelled, and a playbook or a test may need some of that time to end.
	leaveWithin = 8 * time.Second
	// seenWithin bounds the time until the API server knows the rights of the user.
	seenWithin = 30 * time.Second
)

// EnterAs connects to the cluster and creates a user of this kind for one run, whose key only exists in
// memory. leave deletes the user's rights and disconnects. It has a time limit of its own, so it also works
// after the context has ended. signLimit bounds the time until the certificate is signed.
func EnterAs(ctx context.Context, in Input, kind access.Kind, signLimit time.Duration, ports Ports) (config *rest.Config, leave func(), err error) {
	entry, err := Reach(ctx, in, ports)
	if err != nil {
		return nil, nil, err
	}
	admin := clusteraccess.New(entry.Kube, in.Request.Provisioning)
	admin.Lifetime = lifetime
	leave = func() {
		defer entry.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
		defer cancel()
		if _, err := admin.RevokeKind(ctx, kind); err != nil {
			fmt.Fprintf(ports.Log, "The rights of this task's user could not be deleted; the next run deletes them: %v\n", err)
		}
	}
	config, err = become(ctx, in.Request, kind, entry, admin, signLimit, ports.Log)
	if err != nil {
		leave()
		return nil, nil, task.Because(Reason(err), err)
	}
	return config, leave, nil
}

// become creates the user, and returns the configuration of clients that work as this user.
func become(ctx context.Context, request contract.Request, kind access.Kind, entry *Entry, admin *clusteraccess.Client, signLimit time.Duration, log io.Writer) (*rest.Config, error) {
	left, err := admin.RevokeKind(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("delete the rights of earlier users of this task: %w", err)
	}
	for _, user := range left {
		fmt.Fprintf(log, "An earlier run has left the rights of user %s, which are deleted now\n", user)
	}
	user, err := access.NewUser(request.Cluster, kind, rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := access.NewKey(user.String(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signing, err := access.ParseRequest(key.Request)
	if err != nil {
		return nil, err
	}
	if err := admin.Bind(ctx, user); err != nil {
		return nil, err
	}
	signed, err := admin.Sign(ctx, signing, signLimit)
	if err != nil {
		return nil, err
	}
	config := entry.Config(access.EncodeCertificate(signed), key.Private)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make an API client: %w", err)
	}
	if err := clusteraccess.New(kube, request.Provisioning).Verify(ctx, user, seenWithin); err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "Working as user %s, whose certificate is valid until %s\n", user, signed.NotAfter.UTC().Format(time.RFC3339))
	return config, nil
}
