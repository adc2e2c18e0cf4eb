// Package provider is the way to models and stores over HTTP. Nothing goes to
// another machine but through a [Client]: it asks for consent, keeps to a
// budget, retries within bounds, stops asking a host that keeps failing, and
// writes one audit line for every request.
//
// An address on this machine needs no consent and no audit, and is held to this
// machine when it is dialled.
package provider
