package artifacts

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// Versions of the software on lab nodes. runc and etcd have the same versions as on the bootstrap
// machine.
const (
	kubeVersion       = "1.35.4"
	containerdVersion = "2.2.9"
	cniVersion        = "1.9.1"
	corednsVersion    = "1.14.7"
	pauseVersion      = "3.10.1"
	etcdImageTag      = "3.6.14-0" // the etcd that is linked into the multi-call binary
	busyboxTag        = "1.35"
	nginxTag          = "1.22.1" // Debian 12
)

// Builder builds artifacts and stores them in the depot.
type Builder struct {
	State     string    // state folder of the machine: bin/, cache/, depot/
	Source    string    // checkout of this repository
	Registry  string    // host:port of the depot in image references
	PushTo    string    // host:port of the depot's local listener, which accepts pushes; "" means Registry
	Kubespray string    // checkout of KubesprayRelease, for an additional image; "" means none
	Log       io.Writer // receives one line per artifact built

	mu    sync.Mutex
	built int

	etcdctlMu sync.Mutex // an image and a download need etcdctl at the same time
}

// NodeImage returns the reference of the image of a lab node. Its tag is a hash of its inputs.
func NodeImage(registry string) string {
	return registry + "/lab/node:" + stamp.Key(osimage.Node.Key(), string(osimage.NodeInit))[:12]
}

func (b *Builder) bin(name string) string { return filepath.Join(b.State, "bin", name) }
func (b *Builder) cache(parts ...string) string {
	return filepath.Join(append([]string{b.State, "cache", "lab"}, parts...)...)
}
func (b *Builder) files(path string) string { return filepath.Join(b.depot(), "files", path) }

func (b *Builder) depot() string { return filepath.Join(b.State, "depot") }
func (b *Builder) source(parts ...string) string {
	return filepath.Join(append([]string{b.Source}, parts...)...)
}
func (b *Builder) stamps() stamp.Store { return stamp.Store{Dir: b.cache("stamps")} }

// once calls create to create the artifact with this name. It does not call create if the artifact
// was last created with the same key and all outputs still exist. It logs the time that create
// took.
func (b *Builder) once(name, key string, outputs []string, create func() error) error {
	start := time.Now()
	created, err := b.stamps().Do(name, key, outputs, create)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if created {
		b.report(name, start)
	}
	return nil
}

func (b *Builder) report(name string, start time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.built++
	fmt.Fprintf(b.Log, "  %-52s %6.1fs\n", name, time.Since(start).Seconds())
}
