// Package appcluster connects tasks to the API server of the application cluster. It connects to a control
// plane by SSH, with the host key that was pinned at first contact, and reads the administrator's
// kubeconfig there. The tasks collect-kubeconfig, install-plugins and install-software reach the cluster with it
// (Reach), and operations on machines use their own SSH connection (Through).
// For install-plugins and install-software, it creates a user with a short life and the rights of the task (EnterAs).
// Before Reach uses that kubeconfig, it checks that the machine has the mark of this Provisioning and that the
// CA is the one of the stored kubeconfig.
//
// Invariants: the administrator's key is in memory for one run only. The package never prints, stores
// or returns any part of it. Of the kubeconfig, only the certificates, the key and the server address
// are used.
package appcluster
