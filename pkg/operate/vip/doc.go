// Package vip gives control planes the address that moves between them: keepalived in a static pod, which speaks VRRP with
// the other control planes and asks the API server of its own machine for /livez.
//
// Invariant: what is written depends only on the request and the nodes, so that writing it twice changes nothing. The package
// makes scripts and runs none.
package vip
