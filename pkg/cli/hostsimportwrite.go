package cli

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts/hostfile"
)

// What an import does with a host.
const (
	hostCreated   = "created"
	hostUpdated   = "updated"
	hostUnchanged = "unchanged"
	hostFailed    = "failed"
	hostWaits     = "not imported"
)

// rehearse has the API server check all writes, and stores nothing: a missing right, a quota or a webhook stops the import
// before it has changed anything. It returns all errors.
func (i *hostImport) rehearse(ctx context.Context) error {
	dry := (&serverDryRun{value: dryRunServer}).of(i.site).client
	var failed []error
	for _, c := range i.changes {
		err := i.writeSecrets(ctx, dry, c)
		if err == nil {
			host := c // the answer of a dry run must not go into the object that is created
			host.Host = c.Host.DeepCopy()
			err = i.writeHost(ctx, dry, &host)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// write writes all Secrets, and then the hosts: a host never lacks its Secrets, and Metal3 does not see a host before all
// Secrets of the file are there. It ends at the first error. The next import goes on, because it compares again.
func (i *hostImport) write(ctx context.Context) error {
	for n := range i.results {
		if i.results[n] = hostWaits; !i.changes[n].HostChanges() && len(i.changes[n].Write) == 0 {
			i.results[n] = hostUnchanged
		}
	}
	for n, c := range i.changes {
		if err := i.writeSecrets(ctx, i.site.client, c); err != nil {
			i.results[n] = hostFailed
			return i.goOn(err)
		}
	}
	for n := range i.changes {
		if err := i.writeHost(ctx, i.site.client, &i.changes[n]); err != nil {
			i.results[n] = hostFailed
			return i.goOn(err)
		}
		i.results[n] = importResult(i.changes[n])
	}
	return nil
}

// importResult names what an import does.
func importResult(c hostfile.Change) string {
	switch {
	case c.Stored == nil:
		return hostCreated
	case c.HostChanges() || len(c.Write) > 0:
		return hostUpdated
	}
	return hostUnchanged
}

// goOn adds to an error what the import has done, and how it goes on.
func (i *hostImport) goOn(err error) error {
	done := 0
	for _, r := range i.results {
		if r != hostFailed && r != hostWaits {
			done++
		}
	}
	return fmt.Errorf("%w\n%d of %s of the file are done. The same command goes on with the others", err, done, counted(len(i.results), "host"))
}

// failed returns an error about a row, without its password.
func (i *hostImport) failed(c hostfile.Change, what string, err error) error {
	return fmt.Errorf("line %d: %s: %s: %s", c.Row.Line, c.Row.Name, what, c.Row.Hide(i.site.explain(err).Error()))
}

func (i *hostImport) writeSecrets(ctx context.Context, to client.Client, c hostfile.Change) error {
	for _, wanted := range c.Write {
		var err error
		if stored := i.there.Secrets[wanted.Name]; stored == nil {
			err = to.Create(ctx, wanted.DeepCopy())
		} else {
			changed := stored.DeepCopy()
			changed.Data = wanted.Data
			err = to.Patch(ctx, changed, client.MergeFrom(stored))
		}
		if err != nil {
			return i.failed(c, "write Secret "+wanted.Name, err)
		}
	}
	return nil
}

// writeHost writes a host. If somebody has changed it since it was read, as Metal3 does at any time, it compares again.
func (i *hostImport) writeHost(ctx context.Context, to client.Client, c *hostfile.Change) error {
	for try := 1; c.HostChanges(); try++ {
		if c.Stored == nil {
			if err := to.Create(ctx, c.Host); err != nil {
				return i.failed(*c, "create BareMetalHost", err)
			}
			return nil
		}
		err := to.Patch(ctx, c.Host, client.MergeFromWithOptions(c.Stored, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || try == tries {
			return i.failed(*c, "change BareMetalHost", err)
		}
		if err := i.again(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// again reads the host and compares it again.
func (i *hostImport) again(ctx context.Context, c *hostfile.Change) error {
	host := c.Stored.DeepCopy()
	if err := i.site.client.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
		return i.failed(*c, "read BareMetalHost", err)
	}
	there := hostfile.Site{Secrets: map[string]*corev1.Secret{}}
	there.Hosts = append(there.Hosts, *host)
	for _, secret := range hostfile.Render(c.Row, host.Namespace).Secrets() { // they are written by now
		there.Secrets[secret.Name] = secret
	}
	now := hostfile.Compare(hostfile.Render(c.Row, host.Namespace), there)
	now.Write, now.Updated = c.Write, c.Updated
	*c = now
	return nil
}
