package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// logFile is a log file of limited size (limit, in bytes). At the limit it is renamed to <name>.1,
// which replaces the previous <name>.1.
type logFile struct {
	mu    sync.Mutex
	path  string
	limit int64
	file  *os.File
	size  int64
}

func openLog(path string, limit int64) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	l := &logFile{path: path, limit: limit}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("open log: %w", err)
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write never returns an error, so that a full disk loses log lines but does not stop the program
// that logs.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.limit {
		l.file.Close()
		_ = os.Rename(l.path, l.path+".1")
		if l.open() != nil {
			return len(p), nil
		}
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	return len(p), nil
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
