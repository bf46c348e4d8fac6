package artifacts

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// components are programs of the multi-call binary. The layer that contains the binary also
// contains a symbolic link to it for each of these programs.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}

func (b *Builder) makeNodeImage(ctx context.Context) error {
	system, err := b.systemLayer(ctx, osimage.Node)
	if err != nil {
		return err
	}
	start, err := b.packedLayer("node-init", stamp.Key(string(osimage.NodeInit)),
		pack.Entry{Name: "usr/sbin/node-init", Content: osimage.NodeInit, Mode: 0o755})
	if err != nil {
		return err
	}
	name := NodeImage(b.Registry)[len(b.Registry)+1:]
	return b.push(ctx, image{name, []string{system, start}, v1.Config{Entrypoint: []string{"/usr/sbin/node-init"}, Env: []string{searchPath}}})
}

// makeClusterImages builds the images that kubeadm and the network add-on run. The images of the
// control plane share the layer with the multi-call binary, so that a node pulls it once.
func (b *Builder) makeClusterImages(ctx context.Context) error {
	kube, err := b.kubeLayer()
	if err != nil {
		return err
	}
	tools, links, err := b.proxyLayers(ctx)
	if err != nil {
		return err
	}
	etcdctl, err := b.etcdctlLayer(ctx)
	if err != nil {
		return err
	}
	env := v1.Config{Env: []string{searchPath}}
	images := []image{
		{"etcd:" + etcdImageTag, []string{kube, etcdctl}, env},
		{"kube-apiserver:v" + kubeVersion, []string{kube}, env},
		{"kube-controller-manager:v" + kubeVersion, []string{kube}, env},
		{"kube-scheduler:v" + kubeVersion, []string{kube}, env},
		{"kube-proxy:v" + kubeVersion, []string{tools, links, kube}, env},
	}
	for _, build := range []func(context.Context) (image, error){b.networkImage, b.busyboxImage, b.nginxImage} {
		i, err := build(ctx)
		if err != nil {
			return err
		}
		images = append(images, i)
	}
	flannel, err := b.flannelImages(ctx)
	if err != nil {
		return err
	}
	for _, i := range append(images, flannel...) {
		if err := b.push(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) kubeLayer() (string, error) {
	entries := []pack.Entry{{Name: "usr/local/bin/kube", Source: b.bin("kube")}}
	for _, c := range components {
		entries = append(entries, pack.Entry{Name: "usr/local/bin/" + c, Link: "kube"})
	}
	return b.packedLayer("kube", stamp.Key(stamp.FileKey(b.bin("kube")), fmt.Sprint(components)), entries...)
}

// etcdctlLayer contains etcdctl and etcdutl, which the upstream image of etcd contains too. They are the
// only way to change the members of an etcd that kubeadm runs, and to restore a snapshot for it.
func (b *Builder) etcdctlLayer(ctx context.Context) (string, error) {
	dir, err := b.etcdctl(ctx)
	if err != nil {
		return "", err
	}
	key := stamp.Key(stamp.FileKey(filepath.Join(dir, "etcdctl")), stamp.FileKey(filepath.Join(dir, "etcdutl")))
	return b.packedLayer("etcdctl", key, b.programs("usr/local/bin/", dir, "etcdctl", "etcdutl")...)
}

// etcdctl builds etcdctl and etcdutl and returns their folder. The folder has no other program, so that an
// image and a download can share the build.
func (b *Builder) etcdctl(ctx context.Context) (string, error) {
	b.etcdctlMu.Lock()
	defer b.etcdctlMu.Unlock()
	dir := b.cache("etcdctl")
	return dir, b.goBuild(ctx, "test/lab/modules/etcd", "", dir, "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3")
}

// proxyLayers returns the layers with the programs that kube-proxy calls.
func (b *Builder) proxyLayers(ctx context.Context) (tools, links string, err error) {
	if tools, err = b.systemLayer(ctx, osimage.ProxyTools); err != nil {
		return "", "", err
	}
	links, err = b.proxyLinks()
	return tools, links, err
}

func (b *Builder) proxyLinks() (string, error) {
	var entries []pack.Entry
	for _, l := range osimage.ProxyToolsLinks {
		entries = append(entries, pack.Entry{Name: "usr/sbin/" + l, Link: "xtables-nft-multi"})
	}
	return b.packedLayer("proxy-links", stamp.Key(osimage.ProxyToolsLinks...), entries...)
}

func (b *Builder) networkImage(ctx context.Context) (image, error) {
	const module = "github.com/akraino-icn/bpa/test/lab/modules/network"
	if err := b.goBuild(ctx, "test/lab/modules/network", "", b.cache("network"), module); err != nil {
		return image{}, err
	}
	return b.programImage("lab/network:v1", b.cache("network", "network"), "network")
}

// busyboxImage builds the image that users and tests run in a new cluster.
func (b *Builder) busyboxImage(ctx context.Context) (image, error) {
	system, err := b.systemLayer(ctx, osimage.Busybox)
	if err != nil {
		return image{}, err
	}
	var links []pack.Entry
	for _, l := range osimage.BusyboxLinks {
		links = append(links, pack.Entry{Name: "bin/" + l, Link: "busybox"})
	}
	layer, err := b.packedLayer("busybox-links", stamp.Key(osimage.BusyboxLinks...), links...)
	return image{"library/busybox:" + busyboxTag, []string{system, layer}, v1.Config{Env: []string{searchPath}, Cmd: []string{"sh"}}}, err
}

// nginxImage builds the proxy of the API server that kubespray runs on each worker with
// loadbalancer_apiserver_localhost. It replaces the upstream image of the same name. kubespray's
// nginx.conf expects an nginx with a built-in TCP proxy, but in Debian it is a module that must be
// loaded. The packages are only unpacked, so the accounts and folders that their scripts would
// create are in a second layer.
func (b *Builder) nginxImage(ctx context.Context) (image, error) {
	system, err := b.systemLayer(ctx, osimage.Nginx)
	if err != nil {
		return image{}, err
	}
	const passwd, group = "root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", "root:x:0:\nnogroup:x:65534:\n"
	layer, err := b.packedLayer("nginx-setup", stamp.Key(passwd, group),
		pack.Entry{Name: "etc/passwd", Content: []byte(passwd), Mode: 0o644},
		pack.Entry{Name: "etc/group", Content: []byte(group), Mode: 0o644},
		pack.Entry{Name: "var/log/nginx", Dir: true},
		pack.Entry{Name: "var/lib/nginx", Dir: true},
		pack.Entry{Name: "run", Dir: true})
	return image{"library/nginx:" + nginxTag, []string{system, layer}, v1.Config{
		Env:        []string{searchPath},
		Entrypoint: []string{"nginx", "-g", "daemon off; load_module /usr/lib/nginx/modules/ngx_stream_module.so;"},
	}}, err
}

// MakeKeepalived builds the image for an address that moves between control planes, and stores it in the depot. Make does not,
// because few stories need it.
func MakeKeepalived(ctx context.Context, b *Builder) error {
	i, err := b.keepalivedImage(ctx)
	if err != nil {
		return err
	}
	return b.push(ctx, i)
}

// keepalivedImage builds contract.KeepalivedImage. keepalived looks up the user of its check, so there is a passwd.
func (b *Builder) keepalivedImage(ctx context.Context) (image, error) {
	system, err := b.systemLayer(ctx, osimage.Keepalived)
	if err != nil {
		return image{}, err
	}
	const passwd, group = "root:x:0:0:root:/:/usr/sbin/nologin\n", "root:x:0:\n"
	layer, err := b.packedLayer("keepalived-setup", stamp.Key(passwd, group),
		pack.Entry{Name: "etc/passwd", Content: []byte(passwd), Mode: 0o644},
		pack.Entry{Name: "etc/group", Content: []byte(group), Mode: 0o644},
		pack.Entry{Name: "run", Dir: true},
		pack.Entry{Name: "tmp", Dir: true})
	return image{strings.TrimPrefix(contract.KeepalivedImage, "docker.io/"), []string{system, layer}, v1.Config{Env: []string{searchPath}, Entrypoint: []string{"keepalived"}}}, err
}

// programImage returns an image with one static program at /name.
func (b *Builder) programImage(ref, program, name string) (image, error) {
	layer, err := b.packedLayer(name, stamp.Key(stamp.FileKey(program)), pack.Entry{Name: name, Source: program})
	return image{ref, []string{layer}, v1.Config{Entrypoint: []string{"/" + name}, Env: []string{searchPath}}}, err
}
