package images

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// user is arbitrary, because the depot checks only the password.
const user = "machine"

// Login returns the credentials that the depot's local listener requires for writes. It reads them
// from the token file, which the depot creates when it starts.
func Login(tokenFile string) (*authn.Basic, error) {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the depot's local token: %w: check with `machine status` that the depot is running", err)
	}
	return &authn.Basic{Username: user, Password: strings.TrimSpace(string(token))}, nil
}

// WriteLogin writes the credentials for a registry to config.json in the folder. Registry clients
// use them if DOCKER_CONFIG names the folder. Only the current user can read the file.
func WriteLogin(folder, registry string, login *authn.Basic) error {
	config := map[string]map[string]authn.AuthConfig{"auths": {registry: {Username: login.Username, Password: login.Password}}}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(folder, "config.json")
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("write the login for registry clients: %w", err)
	}
	return os.Rename(path+".new", path)
}
