package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/crypto/ssh"
)

// switchSpace is the network namespace with the bridge to which the servers are connected, their network switch. The machine has
// a link to it, as to the network of a site. It is in a namespace of its own, because the firewall of the machine would see each packet
// twice otherwise. test/e2e/machine makes both.
const (
	switchSpace = "switch"
	network     = "lab0"
)

// Server is a lab node.
type Server struct {
	Name    string
	Address string
	MAC     string // of its network card; Start sets it
	folder  string // has its bundle for runc, and its disk
}

// Unpack writes the files of a lab node's image into folder/image. Its registry may be without TLS, as the depot's for pods.
func Unpack(ctx context.Context, image, folder string) error {
	ref, err := name.ParseReference(image, name.Insecure)
	if err != nil {
		return err
	}
	found, err := remote.Image(ref, remote.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("get the image of lab nodes: %w", err)
	}
	files := mutate.Extract(found)
	defer files.Close()
	to := filepath.Join(folder, "image")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	tar := exec.CommandContext(ctx, "tar", "-x", "--numeric-owner", "-C", to)
	tar.Stdin = files
	return run(tar)
}

// Start runs a server with the files that Unpack has written into folder. login is the SSH key that opens it.
func Start(ctx context.Context, folder, name, address string, login ssh.PublicKey) (*Server, error) {
	s := &Server{Name: name, Address: address, folder: filepath.Join(folder, name)}
	if err := s.plug(ctx); err != nil {
		return nil, fmt.Errorf("server %s: network: %w", name, err)
	}
	if err := s.furnish(ctx, filepath.Join(folder, "image"), login); err != nil {
		return nil, fmt.Errorf("server %s: disk: %w", name, err)
	}
	if err := s.writeSpec(); err != nil {
		return nil, fmt.Errorf("server %s: %w", name, err)
	}
	log, err := os.Create(filepath.Join(s.folder, "output"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	start := exec.CommandContext(ctx, "runc", "--root", s.runtime(), "run", "--detach", "--bundle", s.folder, name)
	start.Stdout, start.Stderr = log, log // the server keeps them
	if err := start.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("server %s: %w: %s", name, err, text)
	}
	return s, nil
}

// Run runs a shell command on the server as root and returns its output.
func (s *Server) Run(ctx context.Context, command string) (string, error) {
	out, err := exec.CommandContext(ctx, "runc", "--root", s.runtime(), "exec", s.Name, "sh", "-c", command).CombinedOutput()
	return string(out), err
}

// Remove ends the server and removes its link and its disk.
func (s *Server) Remove(ctx context.Context) error {
	return errors.Join(
		run(exec.CommandContext(ctx, "runc", "--root", s.runtime(), "delete", "--force", s.Name)),
		run(exec.CommandContext(ctx, "ip", "netns", "delete", s.namespace())),
		run(exec.CommandContext(ctx, "umount", filepath.Join(s.folder, "rootfs"))),
		os.RemoveAll(s.folder))
}

func (s *Server) runtime() string   { return filepath.Join(filepath.Dir(s.folder), "runc") }
func (s *Server) namespace() string { return "lab-" + s.Name }
func (s *Server) link() string      { return "lab-" + s.Name }

// plug makes the network namespace of the server with its card, and connects it to the network switch.
func (s *Server) plug(ctx context.Context) error {
	inside := func(args ...string) []string { return append([]string{"-n", s.namespace()}, args...) }
	for _, args := range [][]string{
		{"netns", "add", s.namespace()},
		{"link", "add", s.link(), "type", "veth", "peer", "name", "eth0", "netns", s.namespace()},
		{"link", "set", s.link(), "netns", switchSpace},
		{"-n", switchSpace, "link", "set", s.link(), "master", network, "up"},
		inside("link", "set", "lo", "up"),
		inside("addr", "add", s.Address+"/24", "dev", "eth0"),
		inside("link", "set", "eth0", "up"),
		inside("route", "add", "default", "dev", "eth0"), // there is no router
	} {
		if err := run(exec.CommandContext(ctx, "ip", args...)); err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, "ip", "netns", "exec", s.namespace(), "cat", "/sys/class/net/eth0/address").Output()
	s.MAC = strings.TrimSpace(string(out))
	return err
}

// furnish makes the disk of the server: the image below what it writes.
func (s *Server) furnish(ctx context.Context, image string, login ssh.PublicKey) error {
	for _, dir := range append([]string{"upper", "work", "rootfs", "tmp", "key"}, disks...) {
		if err := os.MkdirAll(filepath.Join(s.folder, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(s.folder, "key", "authorized_keys"), ssh.MarshalAuthorizedKey(login), 0o600); err != nil {
		return err
	}
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", image, s.folder, s.folder)
	if err := run(exec.CommandContext(ctx, "mount", "-t", "overlay", "-o", layers, "overlay", filepath.Join(s.folder, "rootfs"))); err != nil {
		return err
	}
	etc := filepath.Join(s.folder, "rootfs", "etc")
	return errors.Join(
		os.WriteFile(filepath.Join(etc, "hostname"), []byte(s.Name+"\n"), 0o644),
		os.WriteFile(filepath.Join(etc, "hosts"), fmt.Appendf(nil, "127.0.0.1 localhost\n%s %s\n", s.Address, s.Name), 0o644),
		os.WriteFile(filepath.Join(etc, "resolv.conf"), []byte("nameserver 192.0.2.10\n"), 0o644))
}

func run(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
