// Package bucket opens a store in an S3 bucket. It is a separate package so that only its importers
// are built with the S3 client.
package bucket
