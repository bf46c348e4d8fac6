package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// These are the states of a package on a node.
const (
	Pending    = "pending"
	Installing = "installing"
	Installed  = "installed"
	Failed     = "failed"
)

var states = []string{Pending, Installing, Installed, Failed}

// Package is a package's installation on one node.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Kind is the kind of the depot's artifact that the package came from; empty for another
	// source.
	Kind  protocol.Kind `json:"kind,omitempty"`
	State string        `json:"state"`
	// Message is a text for users, such as the reason of a failure.
	Message string `json:"message,omitempty"`
}

// Node is a node's report: its packages, and the time when the depot received the report.
type Node struct {
	Node     string    `json:"node"`
	Updated  time.Time `json:"updated"`
	Packages []Package `json:"packages"`
}

// Cluster has the reports of all nodes of one cluster.
type Cluster struct {
	Owner       string `json:"owner"`
	ClusterName string `json:"cluster_name"`
	Nodes       []Node `json:"nodes"`
	// Damaged lists the nodes whose report cannot be read and must be sent again.
	Damaged []string `json:"damaged,omitempty"`
}

// These are the limits of one report. maxPackages is the number of its packages. maxText is the
// number of bytes that the name, the version and the message of one package have together.
const (
	maxPackages = 5000
	maxText     = 2048
)

// ErrNotFound means that a node has no report.
var ErrNotFound = errors.New("no installation status")

const documentType = "application/vnd.akraino.bpa.status.v1"

// Book stores the reports.
type Book struct {
	store *store.Store
	now   func() time.Time
	// writing serializes changes. Deleting the last report of a cluster also removes the cluster's
	// repository. Without the lock, a report that another node sends at the same time could be
	// removed with it.
	writing sync.Mutex
}

// New returns a book that keeps its reports in s.
func New(s *store.Store) *Book { return &Book{store: s, now: time.Now} }

// Check returns an error that describes the first invalid field of a report.
func Check(n Node) error {
	if len(n.Packages) > maxPackages {
		return fmt.Errorf("the report has %d packages: at most %d are allowed", len(n.Packages), maxPackages)
	}
	for i, p := range n.Packages {
		switch {
		case p.Name == "":
			return fmt.Errorf("packages[%d]: name is missing", i)
		case !slices.Contains(states, p.State):
			return fmt.Errorf("packages[%d] %s: state %q: want one of %s", i, p.Name, p.State, strings.Join(states, ", "))
		case len(p.Name)+len(p.Version)+len(p.Message) > maxText:
			return fmt.Errorf("packages[%d]: name, version and message are longer than %d bytes together", i, maxText)
		}
	}
	return nil
}

// Put replaces a node's report. It returns the new report with the time at which the depot received
// it.
func (b *Book) Put(ctx context.Context, owner, cluster string, n Node) (Node, error) {
	n.Updated = b.now().UTC().Truncate(time.Second)
	body, err := json.Marshal(n)
	if err != nil {
		return n, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	return n, b.store.Save(ctx, protocol.StatusRepository(owner, cluster), tag(n.Node), store.Document{Type: documentType, Config: body})
}

// Get returns a node's report, or ErrNotFound.
func (b *Book) Get(ctx context.Context, owner, cluster, node string) (Node, error) {
	return b.get(ctx, protocol.StatusRepository(owner, cluster), tag(node))
}

func (b *Book) get(ctx context.Context, repository, tag string) (Node, error) {
	doc, err := b.store.Load(ctx, repository, tag)
	if store.IsAbsent(err) {
		return Node{}, ErrNotFound
	}
	if err != nil {
		return Node{}, fmt.Errorf("read status %s: %w", repository, err)
	}
	var n Node
	if err := json.Unmarshal(doc.Config, &n); err != nil {
		return Node{}, &store.DamagedError{What: "status " + repository + ":" + tag, Err: err}
	}
	return n, nil
}

// Cluster returns the reports of all nodes, in the order of their names.
func (b *Book) Cluster(ctx context.Context, owner, cluster string) (Cluster, error) {
	c := Cluster{Owner: owner, ClusterName: cluster, Nodes: []Node{}}
	repository := protocol.StatusRepository(owner, cluster)
	repo, err := b.store.Repository(ctx, repository)
	if err != nil {
		return c, err
	}
	tags, err := repo.Tags(ctx).All(ctx)
	if store.IsAbsent(err) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("list status %s: %w", repository, err)
	}
	for _, tag := range tags {
		n, err := b.get(ctx, repository, tag)
		if errors.Is(err, ErrNotFound) {
			continue // deleted meanwhile
		}
		var damaged *store.DamagedError
		if node, ok := protocol.Unescape(tag); ok && errors.As(err, &damaged) {
			c.Damaged = append(c.Damaged, node)
			continue
		}
		if err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	slices.SortFunc(c.Nodes, func(a, b Node) int { return strings.Compare(a.Node, b.Node) })
	return c, nil
}

// Delete removes a node's report. It returns ErrNotFound if there is none.
func (b *Book) Delete(ctx context.Context, owner, cluster, node string) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	err := b.store.Remove(ctx, protocol.StatusRepository(owner, cluster), tag(node))
	if store.IsAbsent(err) {
		return ErrNotFound
	}
	return err
}

// tag encodes a node's name as a tag. The tag has only characters that a repository name may have,
// and at most twice as many as the node's name.
func tag(node string) string { return protocol.Escape(node) }
