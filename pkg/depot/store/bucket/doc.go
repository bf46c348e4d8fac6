// Package bucket opens a store in an S3 bucket. It stands apart so that nothing
// else has to be built with the S3 client.
package bucket
