package images

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const nonroot = "65532:65532"

// Static returns the base image for statically linked programs. It contains users, a temporary
// folder and certs, the trusted CA certificates in PEM format. arch is a Go architecture name such
// as amd64.
func Static(certs []byte, arch string) (v1.Image, error) {
	return image(skeleton(certs), arch, v1.Config{
		User: nonroot, WorkingDir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	})
}

// Pause returns the image of the pause program, which keeps the namespaces of a pod open. binary is
// the path of the program.
func Pause(binary, arch string) (v1.Image, error) {
	p, err := program(binary, "pause")
	if err != nil {
		return nil, err
	}
	return image([]entry{p}, arch, v1.Config{User: "65535:65535", Entrypoint: []string{"/pause"}, WorkingDir: "/"})
}

// CoreDNS returns the image of the cluster DNS server. binary is the path of the program. The
// image's user is root, because the manifests of application clusters expect that and give it the
// capability to bind port 53. The machine's own manifest runs it as another user.
func CoreDNS(binary string, certs []byte, arch string) (v1.Image, error) {
	p, err := program(binary, "coredns")
	if err != nil {
		return nil, err
	}
	return image(append(skeleton(certs), p), arch, v1.Config{Entrypoint: []string{"/coredns"}, WorkingDir: "/"})
}

func skeleton(certs []byte) []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n")},
		{name: "etc/nsswitch.conf", mode: 0o644, data: []byte("hosts: files dns\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: certs},
		{name: "home/", mode: 0o755},
		{name: "home/nonroot/", mode: 0o1777},
		{name: "root/", mode: 0o700},
		{name: "tmp/", mode: 0o1777},
		{name: "run/", mode: 0o755},
		{name: "var/", mode: 0o755},
		{name: "var/run/", mode: 0o755},
	}
}
