// Package stuck explains why Metal3 does not get on with a server, and what its administrator can do. The causes are found in what
// Metal3 and Ironic say of the server, and in how long they have been at it: baremetal-operator 0.13, Ironic 39 and sushy.
//
// Invariant: a reason is only given for what was said or seen. What is not known is "failed", with the message in another place.
package stuck
