package bucket

import (
	"context"
	"errors"
	"fmt"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
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

// A finished upload is copied within S3 to its place, in parts of this size and
// so many at once.
const (
	copySize = 64 << 20
	copies   = 16
)

// Open keeps everything in a bucket, which must exist.
func Open(ctx context.Context, at At, wraps ...store.Wrap) (*store.Store, error) {
	if at.Bucket == "" {
		return nil, errors.New("the S3 bucket is empty: name one that exists")
	}
	// Neither an object ACL nor a storage class is asked for: AWS refuses ACLs in
	// buckets made as it advises, and other servers know neither.
	driver, err := s3.New(ctx, s3.DriverParameters{
		AccessKey: at.AccessKey, SecretKey: at.SecretKey, V4Auth: true,
		RegionEndpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket, RootDirectory: "/" + at.Prefix,
		Secure: !at.Plain, ForcePathStyle: at.Endpoint != "",
		ChunkSize: partSize, StorageClass: "NONE",
		MultipartCopyChunkSize: copySize, MultipartCopyThresholdSize: copySize, MultipartCopyMaxConcurrency: copies,
	})
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s at %s: %w", at.Bucket, at.Endpoint, err)
	}
	wrapped := storagedriver.StorageDriver(driver)
	for _, wrap := range wraps {
		wrapped = wrap(wrapped)
	}
	return store.Over(ctx, wrapped)
}
