package node

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// longest is the maximum size of a file in bytes. A ConfigMap or a Secret cannot hold as much.
const longest = 2 << 20

// ReadFile returns the unchanged content of the file name in the workspace mounted at dir. A
// missing or too long file has the reason ReasonInvalidRequest.
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
