// Package fleet creates lab nodes (machines). A machine is a privileged pod that runs systemd and
// sshd. Each machine has a BareMetalHost in the state that Metal3 leaves after provisioning.
//
// Invariant: the addresses in a BareMetalHost are read from the running machine. Its CPUs, memory
// and disks are invented, so that some hosts fit a request and some do not. The package must not
// import the product.
package fleet
