package pki

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

// Kubeconfig returns the path of a user's kubeconfig in a folder that Ensure has filled.
func Kubeconfig(dir, user string) string { return filepath.Join(dir, user+".kubeconfig") }

func writeKubeconfig(dir, user, server string) error {
	var parts [3][]byte
	for i, file := range []string{"ca.crt", user + ".crt", user + ".key"} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", user, err)
		}
		parts[i] = raw
	}
	text, err := yaml.Marshal(kubeconfig(server, user, parts[0], parts[1], parts[2]))
	if err != nil {
		return err
	}
	path := Kubeconfig(dir, user)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil // keep the modification time: a new one would restart components
	}
	return disk.WriteFile(path, text, 0o600)
}

// kubeconfig returns the content of the file. It embeds the keys and certificates, so that the file
// can be copied to another machine.
func kubeconfig(server, user string, ca, cert, key []byte) map[string]any {
	type object = map[string]any
	return object{
		"apiVersion": "v1", "kind": "Config", "current-context": user + "@bootstrap",
		"clusters": []object{{"name": "bootstrap", "cluster": object{"server": server, "certificate-authority-data": ca}}},
		"users":    []object{{"name": user, "user": object{"client-certificate-data": cert, "client-key-data": key}}},
		"contexts": []object{{"name": user + "@bootstrap", "context": object{"cluster": "bootstrap", "user": user}}},
	}
}
