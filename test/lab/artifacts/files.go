package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// file describes one file that nodes download. Exactly one of source and entries is set.
type file struct {
	path     string       // path below /files: the upstream URL without the scheme
	variable string       // kubespray variable for the checksum; for PreviousKubernetes with a space and the version
	source   string       // program to copy
	entries  []pack.Entry // entries of an archive to create
}

// makeFiles stores in the depot the files that nodes download. It also writes the file with the
// kubespray variables, which contain the checksums and versions of these files.
func (b *Builder) makeFiles(ctx context.Context) error {
	files, err := b.nodeFiles(ctx)
	if err != nil {
		return err
	}
	more, err := b.kubesprayFiles(ctx)
	if err != nil {
		return err
	}
	for _, f := range append(files, more...) {
		if err := b.store(f); err != nil {
			return err
		}
	}
	return b.writeVars(ctx, append(files, more...))
}

// cniPlugins are the CNI plugins of a node. Upstream's archive has more. The first four are for the
// pod network, the others for networks that users define for multus.
var cniPlugins = []string{
	"ipam/host-local", "main/bridge", "main/loopback", "meta/portmap",
	"ipam/static", "main/host-device", "main/macvlan", "main/vlan", "meta/tuning",
}

func (b *Builder) nodeFiles(ctx context.Context) ([]file, error) {
	const plugins = "github.com/containernetworking/plugins"
	var packages, names []string
	for _, p := range cniPlugins {
		packages, names = append(packages, plugins+"/plugins/"+p), append(names, path.Base(p))
	}
	err := b.goBuild(ctx, "test/lab/modules/network", "-X "+plugins+"/pkg/utils/buildversion.BuildVersion=v"+cniVersion, b.cache("cni"), packages...)
	if err != nil {
		return nil, err
	}
	runc, err := runcVersion(ctx)
	if err != nil {
		return nil, err
	}
	kube := "dl.k8s.io/release/v" + kubeVersion + "/bin/linux/amd64/"
	return []file{
		// kubelet is a copy of the multi-call binary, which selects its program by the base name of
		// argument 0.
		{path: kube + "kubelet", variable: "kubelet_binary_checksum", source: b.bin("kube")},
		{path: kube + "kubeadm", variable: "kubeadm_binary_checksum", source: b.bin("kubeadm")},
		{path: kube + "kubectl", variable: "kubectl_binary_checksum", source: b.bin("kubectl")},
		{path: fmt.Sprintf("github.com/opencontainers/runc/releases/download/v%s/runc.amd64", runc), variable: "runc_binary_checksum", source: runcPath},
		{
			path:     fmt.Sprintf("github.com/containerd/containerd/releases/download/v%[1]s/containerd-%[1]s-linux-amd64.tar.gz", containerdVersion),
			variable: "containerd_archive_checksum",
			entries:  b.programs("bin/", b.bin(""), "containerd", "containerd-shim-runc-v2", "ctr"),
		},
		{
			path:     fmt.Sprintf("github.com/containernetworking/plugins/releases/download/v%[1]s/cni-plugins-linux-amd64-v%[1]s.tgz", cniVersion),
			variable: "cni_binary_checksum",
			entries:  b.programs("./", b.cache("cni"), names...),
		},
	}, nil
}

func (b *Builder) programs(prefix, dir string, names ...string) []pack.Entry {
	var entries []pack.Entry
	for _, n := range names {
		entries = append(entries, pack.Entry{Name: prefix + n, Source: filepath.Join(dir, n)})
	}
	return entries
}

// store writes one file to the depot atomically, and records its checksum.
func (b *Builder) store(f file) error {
	out := b.files(f.path)
	key := []string{f.path, stamp.FileKey(f.source)}
	for _, e := range f.entries {
		key = append(key, e.Name, stamp.FileKey(e.Source))
	}
	_, version, _ := strings.Cut(f.variable, " ")
	return b.once(strings.TrimSpace("file "+filepath.Base(f.path)+" "+version), stamp.Key(key...), []string{out}, func() error {
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
		if err := give(b.depot(), out); err != nil {
			return err
		}
		return b.stamps().Set("sha256 "+f.variable, sum)
	})
}

const runcPath = "/usr/sbin/runc" // of the Debian package

func runcVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, runcPath, "--version").Output() // "runc version 1.1.5+ds1"
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", runcPath, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return "", fmt.Errorf("%s --version printed %q, which contains no version", runcPath, out)
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
