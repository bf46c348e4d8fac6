package apt_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// send uploads a file. It may be called by any goroutine.
func send(t *testing.T, url string, content []byte, status int) (string, error) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("PUT %s = %d %s, want %d", url, response.StatusCode, text, status)
	}
	return string(text), err
}

func get(t *testing.T, url string) (string, error) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s = %d", url, response.StatusCode)
	}
	return string(text), err
}
