package bucket

import (
	"context"
	"errors"
	"fmt"

	s3 "github.com/distribution/distribution/v3/registry/storage/driver/s3-aws"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// At says where a bucket is. Keys come from AccessKey and SecretKey, or where
// both are empty from the environment or the machine's role, as AWS has it.
type At struct {
	Endpoint, Region, Bucket string
	// Prefix is the path of the store within the bucket.
	Prefix               string
	AccessKey, SecretKey string
	// Plain is for an endpoint without TLS.
	Plain bool
}

// partSize is how much of an upload is held in memory on its way to S3.
const partSize = 8 << 20

// Open keeps everything in a bucket, which must exist.
func Open(ctx context.Context, at At) (*store.Store, error) {
	if at.Bucket == "" {
		return nil, errors.New("the S3 bucket is empty: name one that exists")
	}
	driver, err := s3.FromParameters(ctx, map[string]any{
		"accesskey": at.AccessKey, "secretkey": at.SecretKey,
		"regionendpoint": at.Endpoint, "region": at.Region, "bucket": at.Bucket,
		"rootdirectory": "/" + at.Prefix, "secure": !at.Plain, "forcepathstyle": at.Endpoint != "",
		"chunksize": partSize,
	})
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s at %s: %w", at.Bucket, at.Endpoint, err)
	}
	return store.Over(ctx, driver)
}
