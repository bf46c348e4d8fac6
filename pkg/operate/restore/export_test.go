package restore

import (
	"context"
	"io"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Places of a restore on the machines and in the record, for fixtures.
const (
	WorkFolder     = workFolder
	ManifestsAside = manifestsAside
)

// CheckBackup reads a copy with its digest and its key, and checks whether the request can restore it.
func CheckBackup(ctx context.Context, open func(context.Context) (io.ReadCloser, error), key string, request contract.Request, planes []contract.Node) error {
	opened, err := backupCopy{open: open, sha256: request.Restore.SHA256, key: key}.read(ctx, io.Discard)
	if err != nil {
		return err
	}
	return checkBackup(opened, request, planes)
}

// OtherSettings is otherSettings.
func OtherSettings(before contract.Installed, request contract.Request) string {
	return otherSettings(before, request)
}
