package bundle

import (
	"context"
	"fmt"
	"io"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// Import brings into the depot what it lacks of the bundle. What it has, by digest, is neither read nor sent, so an import that was cut off
// goes on where it was. What is to be sent is read and checked first, whole.
func Import(ctx context.Context, b *Bundle, to *client.Depot, log io.Writer) (transfer.Done, error) {
	missing, err := Diff(ctx, b, to)
	if err != nil {
		return transfer.Done{}, err
	}
	if missing.Nothing() {
		fmt.Fprintf(log, "The depot %s has all %d artifacts of it.\n", to.URL(), missing.Of)
		return transfer.Done{}, nil
	}
	fmt.Fprintf(log, "The depot %s lacks %d of %d artifacts. Check the bundle.\n", to.URL(), missing.Size(), missing.Of)
	if err := b.Verify(ctx, missing.List); err != nil {
		return transfer.Done{}, fmt.Errorf("%w: nothing was sent", err)
	}
	return transfer.ToDepot(ctx, missing.List, b, to, transfer.Options{Log: log})
}

// Diff is what a depot lacks of the bundle.
func Diff(ctx context.Context, b *Bundle, to *client.Depot) (artifacts.Missing, error) {
	have, err := to.Stat(ctx, b.List())
	if err != nil {
		return artifacts.Missing{}, err
	}
	return artifacts.Compare(b.List(), have), nil
}
