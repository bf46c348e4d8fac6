package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/awserr"
	"github.com/aws/aws-sdk-go/aws/credentials"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/s3"
	"github.com/aws/aws-sdk-go/service/s3/s3manager"
)

// partSize is the size, in bytes, of the parts in which a file is sent. S3 accepts 10,000 of them.
const partSize = 16 << 20

// bucket is a bucket of S3. Its files are objects below a prefix.
type bucket struct {
	bucketAddress
	access Access
	client *s3.S3
}

// bucketAddress is the address of a bucket. An empty endpoint means AWS.
type bucketAddress struct{ endpoint, region, name, prefix string }

func parseBucket(u *url.URL) (bucketAddress, error) {
	query := u.Query()
	a := bucketAddress{query.Get("endpoint"), cmp.Or(query.Get("region"), "us-east-1"), u.Host, strings.Trim(u.Path, "/")}
	query.Del("endpoint")
	query.Del("region")
	if a.name == "" || len(query) > 0 || u.Fragment != "" {
		return a, fmt.Errorf("the address for backups is %q: %s", u, forms)
	}
	if a.endpoint == "" {
		return a, nil
	}
	server, err := url.Parse(a.endpoint)
	if err != nil || server.Host == "" || server.User != nil || server.Scheme != "https" && server.Scheme != "http" {
		return a, fmt.Errorf("the endpoint in the address for backups is %q: use https://HOST, or http://HOST for a server without TLS", a.endpoint)
	}
	return a, nil
}

func newBucket(u *url.URL, access Access) (*bucket, error) {
	address, err := parseBucket(u)
	if err != nil {
		return nil, err
	}
	if access.Credentials == "" {
		return nil, fmt.Errorf("no credentials for the bucket %s: write them to a file that only root can read, in the format of AWS, and name it with --credentials", address.name)
	}
	if _, err := secret(access.Credentials); err != nil {
		return nil, err
	}
	keys := credentials.NewSharedCredentials(access.Credentials, "default")
	if _, err := keys.Get(); err != nil { // err may quote the file
		return nil, fmt.Errorf("%s has no credentials in the format of AWS, which has a line [default] and then the lines aws_access_key_id = ID and aws_secret_access_key = SECRET", access.Credentials)
	}
	transport, err := access.transport()
	if err != nil {
		return nil, err
	}
	config := aws.Config{
		Credentials: keys, Region: &address.region, HTTPClient: &http.Client{Transport: transport}, MaxRetries: aws.Int(2),
		S3ForcePathStyle: aws.Bool(address.endpoint != ""),
	}
	if address.endpoint != "" {
		config.Endpoint = &address.endpoint
	}
	sdk, err := session.NewSessionWithOptions(session.Options{SharedConfigState: session.SharedConfigDisable})
	if err != nil {
		return nil, fmt.Errorf("prepare the client of S3: %w", err)
	}
	return &bucket{address, access, s3.New(sdk, &config)}, nil // in a session, AWS_CA_BUNDLE would replace the authorities
}

func (b *bucket) key(name string) *string {
	if b.prefix != "" {
		name = b.prefix + "/" + name
	}
	return &name
}

// Check implements Target. It begins an upload in parts and ends it: that needs the right to write, and leaves nothing, also
// in a bucket with object lock.
func (b *bucket) Check(ctx context.Context) error {
	_, err := b.client.ListObjectsV2WithContext(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: b.key(""), MaxKeys: aws.Int64(1)})
	if err != nil {
		return b.explain("list", err)
	}
	upload, err := b.client.CreateMultipartUploadWithContext(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.name, Key: b.key("check")})
	if err == nil {
		_, err = b.client.AbortMultipartUploadWithContext(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: upload.Key, UploadId: upload.UploadId})
	}
	return b.explain("write to", err)
}

// Write implements Target.
func (b *bucket) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	send := s3manager.NewUploaderWithClient(b.client, func(u *s3manager.Uploader) { u.PartSize, u.Concurrency = partSize, 2 })
	return pipe(fill, func(r io.Reader) error {
		_, err := send.UploadWithContext(ctx, &s3manager.UploadInput{Bucket: &b.name, Key: b.key(name), Body: r})
		return b.explain("write", err)
	})
}

// List implements Target.
func (b *bucket) List(ctx context.Context) ([]string, error) {
	var names []string
	err := b.client.ListObjectsV2PagesWithContext(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: b.key("")}, func(page *s3.ListObjectsV2Output, _ bool) bool {
		for _, object := range page.Contents {
			names = append(names, strings.TrimPrefix(aws.StringValue(object.Key), *b.key("")))
		}
		return true
	})
	return names, b.explain("list", err)
}

// Open implements Target.
func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObjectWithContext(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: b.key(name)})
	if err != nil {
		return nil, b.explain("read", err)
	}
	return file{object.Body, b.Address(name)}, nil
}

// Remove implements Target.
func (b *bucket) Remove(ctx context.Context, name string) error {
	_, err := b.client.DeleteObjectWithContext(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: b.key(name)})
	return b.explain("remove", err)
}

// Clean implements Target. It ends uploads in parts that were not completed, which the bucket keeps but does not list.
func (b *bucket) Clean(ctx context.Context, prefix string) error {
	var left []*s3.MultipartUpload
	err := b.client.ListMultipartUploadsPagesWithContext(ctx, &s3.ListMultipartUploadsInput{Bucket: &b.name, Prefix: b.key(prefix)}, func(page *s3.ListMultipartUploadsOutput, _ bool) bool {
		left = append(left, page.Uploads...)
		return true
	})
	for _, upload := range left {
		_, end := b.client.AbortMultipartUploadWithContext(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: upload.Key, UploadId: upload.UploadId})
		err = errors.Join(err, end)
	}
	return b.explain("end unfinished uploads in", err)
}

// Address implements Target.
func (b *bucket) Address(name string) string {
	query := url.Values{}
	if b.endpoint != "" {
		query.Set("endpoint", b.endpoint)
	}
	if b.region != "us-east-1" {
		query.Set("region", b.region)
	}
	text, _ := url.QueryUnescape(query.Encode()) // an endpoint has no character that needs to be escaped
	u := url.URL{Scheme: "s3", Host: b.name, Path: "/" + *b.key(name), RawQuery: text}
	return u.String()
}

// explain says what to do about an error of S3.
func (b *bucket) explain(action string, err error) error {
	if err == nil {
		return nil
	}
	server := cmp.Or(b.endpoint, "AWS")
	where := fmt.Sprintf("%s the bucket %s at %s", action, b.name, server)
	code, message, cause := unwrap(err)
	if cause := explain(cause, server); cause != nil {
		return fmt.Errorf("%s: %w", where, cause)
	}
	do := ""
	switch code {
	case s3.ErrCodeNoSuchBucket:
		do = "create the bucket, or correct its name"
	case s3.ErrCodeNoSuchKey:
		do = "there is no such file; `machine backup list` prints those that are there"
	case "AccessDenied", "Forbidden", "AllAccessDisabled":
		do = "grant s3:ListBucket, s3:ListBucketMultipartUploads, s3:PutObject, s3:AbortMultipartUpload, s3:GetObject and s3:DeleteObject to the owner of the credentials in " + b.access.Credentials
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		do = "the server does not accept the credentials in " + b.access.Credentials + ": replace them"
	case "RequestTimeTooSkewed":
		do = "correct the clock of this machine"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "BucketRegionError", "IllegalLocationConstraintException":
		do = "correct the region in the address"
	case "SlowDown", "ServiceUnavailable", "InternalError", "QuotaExceeded", "XMinioStorageFull":
		do = "see what the server says, and whether it has space"
	default:
		return fmt.Errorf("%s: %w", where, err)
	}
	return fmt.Errorf("%s: %s (%s): %s", where, code, message, do)
}

// unwrap returns the answer of the server in an error of the SDK, which errors.As does not find, and its innermost error.
func unwrap(err error) (code, message string, cause error) {
	for {
		var sdk awserr.Error
		if !errors.As(err, &sdk) {
			return code, message, err
		}
		code, message = sdk.Code(), sdk.Message()
		if sdk.OrigErr() == nil {
			return code, message, err
		}
		err = sdk.OrigErr()
	}
}
