// Package transport fetches and pushes one branch of one remote, and says what went
// wrong and who can go on: time, or the user.
//
// The user's git program does it, run in a repository of ours whose configuration is
// ours, with the user's ssh agent, credential helpers and proxies (git.md G15). Calls
// block on the network until ctx or their limit ends; errors are *Error and hold no
// credentials.
package transport
