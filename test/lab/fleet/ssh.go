package fleet

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// readMAC reads the MAC address of eth0 from the machine by SSH. This also proves that the key
// works.
func readMAC(ctx context.Context, ip string, signer ssh.Signer) (string, error) {
	out, err := runSSH(ctx, ip, signer, "cat /sys/class/net/eth0/address")
	if err != nil {
		return "", fmt.Errorf("read MAC address: %w", err)
	}
	mac, err := net.ParseMAC(strings.TrimSpace(out))
	if err != nil {
		return "", fmt.Errorf("read MAC address: %w", err)
	}
	return mac.String(), nil
}

// Run runs a command on the machine as root and returns its output (standard output and error).
func (f *Fleet) Run(ctx context.Context, name, command string) (string, error) {
	ip, err := f.Address(ctx, name)
	if err != nil {
		return "", err
	}
	signer, err := f.Key(ctx)
	if err != nil {
		return "", err
	}
	return runSSH(ctx, ip, signer, command)
}

func runSSH(ctx context.Context, ip string, signer ssh.Signer, command string) (string, error) {
	address := net.JoinHostPort(ip, "22")
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	// The host key is not verified. The lab has just created the machine on a local bridge, so
	// there is no earlier key to compare with.
	config := &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second,
	}
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		return "", err
	}
	session, err := ssh.NewClient(c, channels, requests).NewSession()
	if err != nil {
		return "", err
	}
	defer session.Close()
	out, err := session.CombinedOutput(command)
	return string(out), err
}
