package bundle

import (
	"context"
	"fmt"
	"io"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// Import copies those artifacts of the bundle into the depot that the depot lacks. It compares them
// by digest. Content that the depot has is neither read from the bundle nor sent again, so an
// interrupted import resumes where it stopped. Before Import sends anything, it reads and checks
// all artifacts that it will send.
func Import(ctx context.Context, b *Bundle, to *client.Depot, log io.Writer) (transfer.Done, error) {
	missing, err := Diff(ctx, b, to)
	if err != nil {
		return transfer.Done{}, err
	}
	if missing.Nothing() {
		fmt.Fprintf(log, "The depot %s has all %d artifacts of the bundle.\n", to.URL(), missing.Of)
		return transfer.Done{}, nil
	}
	fmt.Fprintf(log, "The depot %s lacks %d of %d artifacts. Checking the bundle.\n", to.URL(), missing.Size(), missing.Of)
	if err := b.Verify(ctx, missing.List); err != nil {
		return transfer.Done{}, fmt.Errorf("%w: nothing was sent", err)
	}
	return transfer.ToDepot(ctx, missing.List, b, to, transfer.Options{Log: log})
}

// Diff returns the artifacts of the bundle that the depot lacks.
func Diff(ctx context.Context, b *Bundle, to *client.Depot) (artifacts.Missing, error) {
	have, err := to.Stat(ctx, b.List())
	if err != nil {
		return artifacts.Missing{}, err
	}
	return artifacts.Compare(b.List(), have), nil
}
