// Package provisioning makes the world follow Provisionings: it observes, lets package plan decide, does one thing, and reports.
//
// Its invariant: all it knows it has seen in this visit, so that a restart at any moment changes nothing. What is decided is in plan, what
// objects look like in resources; here is only the touching of the API server.
package provisioning
