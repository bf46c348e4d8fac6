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

// Versions of what lab nodes run. Those of runc and etcd follow what the bootstrap machine has.
const (
	kubeVersion       = "1.35.4"
	containerdVersion = "2.2.1"
	cniVersion        = "1.9.1"
	corednsVersion    = "1.12.4"
	pauseVersion      = "3.10.1"
	etcdImageTag      = "3.6.5-0" // the etcd that is linked into the multi-call binary
	busyboxTag        = "1.35"
)

// Site is where artifacts come from and go to.
type Site struct {
	State     string // the machine's state folder: bin/, cache/, depot/
	Source    string // this repository
	Registry  string // host:port of the depot, as images are named
	PushTo    string // host:port of the depot's door for this machine; "" means Registry
	Kubespray string // a checkout of KubesprayRelease that gets an image of its own beside the compact playbooks', or ""
	Log       io.Writer

	mu   sync.Mutex
	made int
}

// NodeImage names the image of a lab node; its tag follows its content.
func NodeImage(registry string) string {
	return registry + "/lab/node:" + stamp.Key(osimage.Node.Key(), string(osimage.NodeInit))[:12]
}

func (s *Site) bin(name string) string { return filepath.Join(s.State, "bin", name) }
func (s *Site) cache(parts ...string) string {
	return filepath.Join(append([]string{s.State, "cache", "lab"}, parts...)...)
}
func (s *Site) files(path string) string { return filepath.Join(s.State, "depot", "files", path) }
func (s *Site) source(parts ...string) string {
	return filepath.Join(append([]string{s.Source}, parts...)...)
}
func (s *Site) stamps() stamp.Store { return stamp.Store{Dir: s.cache("stamps")} }

// once makes name unless it is there, and says how long it took.
func (s *Site) once(name, key string, outputs []string, create func() error) error {
	start := time.Now()
	made, err := s.stamps().Do(name, key, outputs, create)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if made {
		s.report(name, start)
	}
	return nil
}

func (s *Site) report(name string, start time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	fmt.Fprintf(s.Log, "  %-52s %6.1fs\n", name, time.Since(start).Seconds())
}
