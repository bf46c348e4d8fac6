package machine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// KeySign is the first word of the comment of a cluster's key in authorized_keys. It tells such a line from
// those of the site.
const KeySign = "bpa-cluster-key"

// KeyLine returns the line of authorized_keys with which the login user accepts the key of a cluster.
// publicKey is the key in the form of authorized_keys, without a comment.
func KeyLine(publicKey, cluster string) string {
	return strings.TrimSpace(publicKey) + " " + KeySign + " " + cluster + "\n"
}

// Authorize lets the login user accept a line of KeyLine, and the key of no other cluster. With an empty
// line, the user accepts the key of no cluster. The other keys of the user stay.
func Authorize(ctx context.Context, sh Shell, line string) error {
	if line != "" && (strings.Count(line, "\n") != 1 || !strings.Contains(line, " "+KeySign+" ")) {
		return errors.New("the line for authorized_keys is not one of KeyLine")
	}
	set := "sign=" + KeySign + "\nkey64=" + base64.StdEncoding.EncodeToString([]byte(line)) + "\n"
	if _, err := run(ctx, sh, shortLimit, set+authorizeScript); err != nil {
		return fmt.Errorf("write authorized_keys of the login user: %w", err)
	}
	return nil
}
