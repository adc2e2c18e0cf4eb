//go:build !linux

package disk_test

// canExchange says whether Replace is one step on this system, for sure.
const canExchange = false
