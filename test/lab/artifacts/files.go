package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// file is one download of a node: where it lies below /files (its upstream URL without the scheme), what it is made of,
// and the kubespray variable that holds its checksum.
type file struct {
	path     string
	variable string
	source   string       // a program as it is
	entries  []pack.Entry // or an archive of these
}

// makeFiles lays out what nodes download and writes the variables that tell checksums and versions.
func (s *Site) makeFiles(ctx context.Context) error {
	files, err := s.nodeFiles(ctx)
	if err != nil {
		return err
	}
	more, err := s.kubesprayFiles(ctx)
	if err != nil {
		return err
	}
	for _, f := range append(files, more...) {
		if err := s.place(f); err != nil {
			return err
		}
	}
	return s.writeVars(ctx, append(files, more...))
}

func (s *Site) nodeFiles(ctx context.Context) ([]file, error) {
	const plugins = "github.com/containernetworking/plugins"
	err := s.goBuild(ctx, "test/lab/modules/network", "-X "+plugins+"/pkg/utils/buildversion.BuildVersion=v"+cniVersion, s.cache("cni"),
		plugins+"/plugins/ipam/host-local", plugins+"/plugins/main/bridge", plugins+"/plugins/main/loopback", plugins+"/plugins/meta/portmap")
	if err != nil {
		return nil, err
	}
	runc, err := runcVersion(ctx)
	if err != nil {
		return nil, err
	}
	kube := "dl.k8s.io/release/v" + kubeVersion + "/bin/linux/amd64/"
	return []file{
		// The multi-call binary acts by the base name of argument 0: under the name kubelet it is the kubelet.
		{path: kube + "kubelet", variable: "kubelet_binary_checksum", source: s.bin("kube")},
		{path: kube + "kubeadm", variable: "kubeadm_binary_checksum", source: s.bin("kubeadm")},
		{path: kube + "kubectl", variable: "kubectl_binary_checksum", source: s.bin("kubectl")},
		{path: fmt.Sprintf("github.com/opencontainers/runc/releases/download/v%s/runc.amd64", runc), variable: "runc_binary_checksum", source: runcPath},
		{
			path:     fmt.Sprintf("github.com/containerd/containerd/releases/download/v%[1]s/containerd-%[1]s-linux-amd64.tar.gz", containerdVersion),
			variable: "containerd_archive_checksum",
			entries:  s.programs("bin/", s.bin(""), "containerd", "containerd-shim-runc-v2", "ctr"),
		},
		{
			path:     fmt.Sprintf("github.com/containernetworking/plugins/releases/download/v%[1]s/cni-plugins-linux-amd64-v%[1]s.tgz", cniVersion),
			variable: "cni_binary_checksum",
			entries:  s.programs("./", s.cache("cni"), "host-local", "bridge", "loopback", "portmap"),
		},
	}, nil
}

func (s *Site) programs(prefix, dir string, names ...string) []pack.Entry {
	var entries []pack.Entry
	for _, n := range names {
		entries = append(entries, pack.Entry{Name: prefix + n, Source: filepath.Join(dir, n)})
	}
	return entries
}

// place puts one file into the depot, whole or not at all, and remembers its checksum.
func (s *Site) place(f file) error {
	out := s.files(f.path)
	key := []string{f.path, stamp.Seen(f.source)}
	for _, e := range f.entries {
		key = append(key, e.Name, stamp.Seen(e.Source))
	}
	return s.once("file "+filepath.Base(f.path), stamp.Key(key...), []string{out}, func() error {
		if f.entries != nil {
			if err := pack.Gzip(out, f.entries); err != nil {
				return err
			}
		} else if err := copyFile(f.source, out); err != nil {
			return err
		}
		sum, err := sha256sum(out)
		if err != nil {
			return err
		}
		return s.stamps().Set("sha256 "+f.variable, sum)
	})
}

const runcPath = "/usr/sbin/runc" // Debian's

func runcVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, runcPath, "--version").Output() // "runc version 1.1.5+ds1"
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", runcPath, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return "", fmt.Errorf("%s --version says %q", runcPath, out)
	}
	version, _, _ := strings.Cut(fields[2], "+")
	return version, nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if err := out.Chmod(0o755); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

func sha256sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
