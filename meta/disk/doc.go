// Package disk is the one way to touch files under fold/ and the state
// directory: everything goes through os.Root, follows no symbolic link, and is
// durable when a call returns.
package disk
