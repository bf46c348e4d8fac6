package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// debs are packages that the depot holds for lab nodes: a small program that they do not have, and what it depends on besides what they have.
var debs = []string{"jq", "libjq1", "libonig5"}

// makeDebs gets them from the distribution, as apt verifies them, into the depot's folder for the nodes' system. The depot makes the index.
func (s *Site) makeDebs(ctx context.Context) error {
	var outputs []string
	for _, name := range debs {
		outputs = append(outputs, s.files("apt/"+osimage.NodeSystem+"/"+name+".deb"))
	}
	key := stamp.Key(append([]string{osimage.NodeSystem}, debs...)...)
	return s.once("packages "+strings.Join(debs, ", "), key, outputs, func() error {
		dir := s.cache("debs")
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := download(ctx, dir); err != nil {
			return err
		}
		for i, name := range debs {
			found, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
			if err != nil || len(found) != 1 {
				return fmt.Errorf("apt-get download %s gave %d packages (%v)", name, len(found), err)
			}
			if err := copyFile(found[0], outputs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// download tries first with the lists that apt has: on a fresh machine there are none.
func download(ctx context.Context, dir string) error {
	get := append([]string{"-o", "APT::Sandbox::User=root", "-qq", "download"}, debs...)
	if run(ctx, dir, nil, "apt-get", get...) == nil {
		return nil
	}
	if err := run(ctx, "", nil, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return run(ctx, dir, nil, "apt-get", get...)
}
