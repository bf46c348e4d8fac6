package artifacts

import (
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// components are the names under which the multi-call binary acts in images.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}

func (s *Site) makeNodeImage(ctx context.Context) error {
	system, err := s.systemLayer(ctx, osimage.Node)
	if err != nil {
		return err
	}
	start, err := s.packedLayer("node-init", stamp.Key(string(osimage.NodeInit)),
		pack.Entry{Name: "usr/sbin/node-init", Content: osimage.NodeInit, Mode: 0o755})
	if err != nil {
		return err
	}
	name := NodeImage(s.Registry)[len(s.Registry)+1:]
	return s.push(ctx, image{name, []string{system, start}, v1.Config{Entrypoint: []string{"/usr/sbin/node-init"}, Env: []string{searchPath}}})
}

// makeClusterImages makes what kubeadm and the network add-on run: the control plane's images differ in their names
// alone, so a node pulls the multi-call binary once.
func (s *Site) makeClusterImages(ctx context.Context) error {
	kube, err := s.kubeLayer()
	if err != nil {
		return err
	}
	tools, err := s.systemLayer(ctx, osimage.ProxyTools)
	if err != nil {
		return err
	}
	links, err := s.proxyLinks()
	if err != nil {
		return err
	}
	env := v1.Config{Env: []string{searchPath}}
	images := []image{
		{"etcd:" + etcdImageTag, []string{kube}, env},
		{"kube-apiserver:v" + kubeVersion, []string{kube}, env},
		{"kube-controller-manager:v" + kubeVersion, []string{kube}, env},
		{"kube-scheduler:v" + kubeVersion, []string{kube}, env},
		{"kube-proxy:v" + kubeVersion, []string{tools, links, kube}, env},
	}
	for _, single := range []func(context.Context) (image, error){s.networkImage, s.busyboxImage} {
		i, err := single(ctx)
		if err != nil {
			return err
		}
		images = append(images, i)
	}
	for _, i := range images {
		if err := s.push(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) kubeLayer() (string, error) {
	entries := []pack.Entry{{Name: "usr/local/bin/kube", Source: s.bin("kube")}}
	for _, c := range components {
		entries = append(entries, pack.Entry{Name: "usr/local/bin/" + c, Link: "kube"})
	}
	return s.packedLayer("kube", stamp.Key(stamp.Seen(s.bin("kube")), fmt.Sprint(components)), entries...)
}

func (s *Site) proxyLinks() (string, error) {
	var entries []pack.Entry
	for _, l := range osimage.ProxyToolsLinks {
		entries = append(entries, pack.Entry{Name: "usr/sbin/" + l, Link: "xtables-nft-multi"})
	}
	return s.packedLayer("proxy-links", stamp.Key(osimage.ProxyToolsLinks...), entries...)
}

func (s *Site) networkImage(ctx context.Context) (image, error) {
	const module = "github.com/akraino-icn/bpa/test/lab/modules/network"
	if err := s.goBuild(ctx, "test/lab/modules/network", "", s.cache("network"), module); err != nil {
		return image{}, err
	}
	return s.single("lab/network:v1", s.cache("network", "network"), "network")
}

// busyboxImage is what a person and the tests run in the new cluster.
func (s *Site) busyboxImage(ctx context.Context) (image, error) {
	system, err := s.systemLayer(ctx, osimage.Busybox)
	if err != nil {
		return image{}, err
	}
	var links []pack.Entry
	for _, l := range osimage.BusyboxLinks {
		links = append(links, pack.Entry{Name: "bin/" + l, Link: "busybox"})
	}
	layer, err := s.packedLayer("busybox-links", stamp.Key(osimage.BusyboxLinks...), links...)
	return image{"library/busybox:" + busyboxTag, []string{system, layer}, v1.Config{Env: []string{searchPath}, Cmd: []string{"sh"}}}, err
}

// single is an image of one static program at /name.
func (s *Site) single(ref, program, name string) (image, error) {
	layer, err := s.packedLayer(name, stamp.Key(stamp.Seen(program)), pack.Entry{Name: name, Source: program})
	return image{ref, []string{layer}, v1.Config{Entrypoint: []string{"/" + name}, Env: []string{searchPath}}}, err
}
