package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/auth"
)

// localTokenFile is the file below the root that holds the token for writes on the local listener.
// Only root and the depot's own user can read it.
const localTokenFile = "local-token"

// localTokenBytes is the number of random bytes in the token: enough that nobody can guess it.
const localTokenBytes = 32

// localToken reads the local token, or creates it at the first start. It returns an error if other
// users can read or change the file, or if the token is too short.
func localToken(root string) (auth.Secret, error) {
	path := filepath.Join(root, localTokenFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeLocalToken(path)
	}
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("other users may read or change %s: remove this file and start the depot again, which creates a new token", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < hex.EncodedLen(localTokenBytes) {
		return "", fmt.Errorf("the token in %s is damaged or too short: remove this file and start the depot again, which creates a new token", path)
	}
	return auth.Secret(token), nil
}

func makeLocalToken(path string) (auth.Secret, error) {
	random := make([]byte, localTokenBytes)
	_, _ = rand.Read(random) // never fails
	token := hex.EncodeToString(random)
	temp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = temp.WriteString(token + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("create %s: %w", path, err), os.Remove(temp.Name()))
	}
	return auth.Secret(token), nil
}
