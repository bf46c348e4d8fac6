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

// localTokenFile, below the root, is what a user of the machine must be able to read to write at the local door: root, or the depot's own user.
const localTokenFile = "local-token"

// localTokenBytes are as many as nobody guesses.
const localTokenBytes = 32

// localToken reads the machine's secret, or makes it at the first start. One that others can read is refused.
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
		return "", fmt.Errorf("others may read or change %s: remove it, and the next start makes another", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < hex.EncodedLen(localTokenBytes) {
		return "", fmt.Errorf("%s is damaged or too short: remove it, and the next start makes another", path)
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
		return "", errors.Join(fmt.Errorf("make %s: %w", path, err), os.Remove(temp.Name()))
	}
	return auth.Secret(token), nil
}
