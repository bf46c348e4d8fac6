package software

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	apiPath = "apis/bpa.akraino.org/v1alpha1"
	plural  = "softwares"

	// callLimit limits the time for one page.
	callLimit = 10 * time.Second
	// pageSize and maxPages limit the objects that are read. maxPage limits the bytes of a page: an object
	// has at most about 1.5 MiB.
	pageSize = 20
	maxPages = 50
	maxPage  = 32 << 20
	// parallel limits the pages in memory, and the load for the API server.
	parallel = 4
)

// Client reads Softwares. Create it with New.
type Client struct {
	base  *url.URL
	http  *http.Client
	turns chan struct{}
}

// New returns a client of the API server of config. It sends no request.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = callLimit
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection to the Kubernetes API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the Kubernetes API server: %w", err)
	}
	return &Client{base: base, http: client, turns: make(chan struct{}, parallel)}, nil
}

// object has the fields of a Software that the status needs. A test compares them with the API types.
type object struct {
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Cluster string `json:"cluster"`
	} `json:"spec"`
	Status struct {
		Cluster string `json:"cluster"`
		Nodes   []node `json:"nodes"`
	} `json:"status"`
}

type node struct {
	Name     string     `json:"name"`
	Checked  *time.Time `json:"checked"`
	Message  string     `json:"message"`
	Packages []row      `json:"packages"`
}

type row struct {
	Name      string     `json:"name"`
	Wanted    string     `json:"wanted"`
	Installed string     `json:"installed"`
	State     string     `json:"state"`
	Since     *time.Time `json:"since"`
	Message   string     `json:"message"`
}

type page struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

// each calls visit for all Softwares of a namespace, or of all namespaces if it is empty.
func (c *Client) each(ctx context.Context, namespace, labels string, visit func(object)) error {
	at := c.base.JoinPath(apiPath, plural)
	if namespace != "" {
		at = c.base.JoinPath(apiPath, "namespaces", namespace, plural)
	}
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if labels != "" {
		query.Set("labelSelector", labels)
	}
	for range maxPages {
		at.RawQuery = query.Encode()
		next, err := c.page(ctx, at.String())
		if err != nil {
			return err
		}
		for _, o := range next.Items {
			visit(o)
		}
		if next.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", next.Metadata.Continue)
	}
	return fmt.Errorf("there are more than %d Softwares", maxPages*pageSize)
}

func (c *Client) page(ctx context.Context, at string) (page, error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return page{}, ctx.Err()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return page{}, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	if err != nil {
		return page{}, err
	}
	if err := check(response, raw); err != nil {
		return page{}, err
	}
	var p page
	return p, json.Unmarshal(raw, &p)
}

func check(response *http.Response, raw []byte) error {
	var status metav1.Status
	_ = json.Unmarshal(raw, &status) // a proxy may answer with anything
	switch {
	case len(raw) > maxPage:
		return fmt.Errorf("a page of Softwares has more than %d bytes", maxPage)
	case response.StatusCode == http.StatusNotFound:
		return errors.New("the API server has no kind Software: install the manifests of BPA, config/300-softwares.yaml")
	case response.StatusCode == http.StatusForbidden:
		return fmt.Errorf("the depot's account needs the right to list softwares.bpa.akraino.org, which config/200-depot.yaml grants: %s", status.Message)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the API server answers %s %s", response.Status, status.Message)
	}
	return nil
}
