package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// File names the environment variable with the path of the file to which Record appends. Without it,
// figures are only printed.
const File = "BPA_BENCH_RESULTS"

// Record prints figures, and appends them to the file with the present load and date.
func Record(t testing.TB, figures ...Figure) {
	t.Helper()
	for _, f := range figures {
		fmt.Println(f)
	}
	path := os.Getenv(File)
	if path == "" {
		return
	}
	load, err := loadAverage()
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for _, f := range figures {
		f.Load, f.Date = load, time.Now().UTC().Format(time.DateOnly)
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := appendTo(path, lines); err != nil {
		t.Fatalf("record figures: %v", err)
	}
}

func appendTo(path string, lines []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(lines)
	return errors.Join(err, file.Close())
}

// loadAverage returns the load average of the last minute.
func loadAverage() (load float64, err error) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(string(raw), &load); err != nil {
		return 0, fmt.Errorf("/proc/loadavg: %w", err)
	}
	return load, nil
}
