package node

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// longest is more than a ConfigMap or a Secret can hold.
const longest = 2 << 20

// ReadFile reads a file of a workspace as it is.
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
