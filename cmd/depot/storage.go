package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/store/bucket"
)

// storage is where the depot keeps things, and how much of them.
type storage struct {
	limits limits.Limits
	s3     bucket.At
}

func (s *storage) flags(set *flag.FlagSet) {
	s.limits = limits.Limits{MaxUpload: 64 << 30, MaxOpen: 256, Expiry: 7 * 24 * time.Hour, MinFree: 1 << 30}
	set.Var((*size)(&s.limits.MaxUpload), "max-upload", "largest upload, and the most an archive may unpack to (bytes, or with KiB, MiB, GiB, TiB; 0: no limit)")
	set.IntVar(&s.limits.MaxOpen, "max-open-uploads", s.limits.MaxOpen, "uploads and pushes that may be under way (0: no limit)")
	set.DurationVar(&s.limits.Expiry, "upload-expiry", s.limits.Expiry, "how long an upload may rest before it is removed (0: for ever)")
	set.Var((*size)(&s.limits.Quota), "quota", "most that images, uploads and plain files may take together (0: no limit)")
	set.Var((*size)(&s.limits.MinFree), "min-free", "room on the disk that uploads have to leave; with --s3-bucket the disk below --root, which plain files have to leave")
	s.where(set)
}

// where are the flags that say where the store is.
func (s *storage) where(set *flag.FlagSet) {
	set.StringVar(&s.s3.Bucket, "s3-bucket", "", "keep images and uploads in this bucket, which must exist; plain files stay below --root. Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	set.StringVar(&s.s3.Endpoint, "s3-endpoint", "", "URL of the S3 server; empty: AWS")
	set.StringVar(&s.s3.Region, "s3-region", "us-east-1", "region of the bucket")
	set.StringVar(&s.s3.Prefix, "s3-prefix", "", "path within the bucket")
}

func (s *storage) options() []depot.Option {
	options := []depot.Option{depot.WithLimits(s.limits)}
	if s.s3.Bucket != "" {
		s.s3.Plain = strings.HasPrefix(s.s3.Endpoint, "http://")
		options = append(options, depot.WithS3(s.s3))
	}
	return options
}

// open opens the store alone, for work on it while no depot serves it.
func (s *storage) open(ctx context.Context, root string) (*store.Store, error) {
	if s.s3.Bucket == "" {
		return store.OnDisk(ctx, filepath.Join(root, depot.RegistryDir))
	}
	s.s3.Plain = strings.HasPrefix(s.s3.Endpoint, "http://")
	return bucket.Open(ctx, s.s3)
}

// size is a number of bytes as people write it.
type size int64

var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s *size) String() string {
	for _, u := range units {
		if *s != 0 && int64(*s)%u.bytes == 0 {
			return strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Set(text string) error {
	factor, number := int64(1), text
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			factor, number = u.bytes, rest
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return errors.New("want a number of bytes, or one with KiB, MiB, GiB or TiB")
	}
	*s = size(n * factor)
	return nil
}

// lockFile keeps a second process out of a store.
const lockFile = "lock"

// lock takes a store for this process; the end of the process gives it back.
func lock(root string) (*os.File, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another depot: stop it first: %w", root, err), f.Close())
	}
	return f, nil
}
