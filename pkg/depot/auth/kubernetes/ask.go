package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ask posts a review to the API server and decodes the answer into the same review.
func (r *Authorizer) ask(ctx context.Context, resource string, review any) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return fmt.Errorf("%d reviews are under way already: %w", parallel, ctx.Err())
	}
	body, err := json.Marshal(review)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base.JoinPath("apis", resource).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header["Idempotency-Key"] = nil // the header is not sent; its key lets the transport retry if the server has closed the connection
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return read(response, review)
}

func read(response *http.Response, review any) error {
	raw, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer+1))
	if err != nil {
		return err
	}
	if len(raw) > largestAnswer {
		return fmt.Errorf("the answer is larger than %d bytes", largestAnswer)
	}
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusOK {
		var status metav1.Status
		_ = json.Unmarshal(raw, &status) // a proxy may answer with anything
		return fmt.Errorf("the API server answers %s %s: the depot's account needs the right to create tokenreviews and subjectaccessreviews", response.Status, status.Message)
	}
	return json.Unmarshal(raw, review)
}
