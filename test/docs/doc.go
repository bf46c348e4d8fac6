// Package docs tries what the pages in docs/ show: every Provisioning in them is one that the webhook accepts, and where a page says which
// hosts it gets, of which there are so many, that is what it gets.
package docs
