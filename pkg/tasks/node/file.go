package node

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// longest is the maximum size of a file in bytes. ConfigMaps and Secrets are always smaller.
const longest = 2 << 20

// ReadFile returns the unchanged content of a file in the workspace that is mounted at dir. If the
// file is missing or too long, the error has the reason ReasonInvalidRequest.
func ReadFile(dir, name string) ([]byte, error) {
	text, err := readBounded(filepath.Join(dir, name))
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", name, err))
	}
	return text, nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longest+1))
	if err == nil && len(text) > longest {
		err = fmt.Errorf("it is longer than %d bytes", longest)
	}
	return text, err
}
