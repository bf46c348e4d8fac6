package images

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// user is any: the depot looks at the password alone.
const user = "machine"

// Login reads what the depot's local door asks for a write. The depot makes the file when it starts.
func Login(tokenFile string) (*authn.Basic, error) {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("the depot's local token: %w; does the depot run (machine status)?", err)
	}
	return &authn.Basic{Username: user, Password: strings.TrimSpace(string(token))}, nil
}

// WriteLogin keeps a login where registry clients look that have the folder as DOCKER_CONFIG. Nobody else may read it.
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
