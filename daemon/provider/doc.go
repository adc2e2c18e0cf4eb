// Package provider sends requests to models and stores over HTTP. Each request to another
// machine goes through a [Client], which asks for consent, keeps to a budget, retries
// within bounds, stops asking a host that keeps failing, and audits each request.
//
// A provider on this machine needs no consent and no audit, and connections to it cannot
// leave the machine.
package provider
