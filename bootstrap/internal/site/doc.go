// Package site reads the file that describes the networks of a site: site.yaml.
//
// `machine up --site FILE` checks the file and keeps a copy in the state folder, which backups of the machine contain. All
// other commands read the copy. A field that the file leaves out has the value that `machine check-site --print` shows.
package site
