//go:build !linux

package main

// dropStartPages does nothing here.
func dropStartPages() {}
