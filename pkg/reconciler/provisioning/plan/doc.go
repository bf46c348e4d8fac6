// Package plan is the whole state machine of a Provisioning: Next decides from what was seen which one thing to do, Report writes the status.
//
// Its invariant: a host is released only on positive evidence that nothing works on it any more, and in a steady world the answer is Stay.
// It is pure: time is an argument, and it imports no client and none of Tekton's or Metal3's types.
package plan
