package bucket

import (
	"context"
	"errors"
	"fmt"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	s3 "github.com/distribution/distribution/v3/registry/storage/driver/s3-aws"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// At is the location of a bucket. AccessKey and SecretKey are its credentials. If both are empty,
// the credentials come from the environment or from the machine's role, as in the AWS tools.
type At struct {
	Endpoint, Region, Bucket string
	// Prefix is the path of the store within the bucket.
	Prefix               string
	AccessKey, SecretKey string
	// Plain means that the endpoint has no TLS.
	Plain bool
}

// partSize is the size, in bytes, of the part of an upload that is held in memory until it is sent
// to S3.
const partSize = 8 << 20

// A finished upload is copied within S3 to its final path, in parts of copySize bytes. copies is
// the number of parts that are copied at the same time.
const (
	copySize = 64 << 20
	copies   = 16
)

// Open returns a store that keeps everything in a bucket, which must exist.
func Open(ctx context.Context, at At, wraps ...store.Wrap) (*store.Store, error) {
	if at.Bucket == "" {
		return nil, errors.New("the name of the S3 bucket is empty: give an existing bucket")
	}
	// The driver sets no object ACL and no storage class. AWS refuses ACLs in a bucket with the
	// settings that AWS recommends, and other servers support neither ACLs nor storage classes.
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
