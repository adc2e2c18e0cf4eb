// Package work decides what a checkout does next: what waits, what runs, what is
// tried again and when. A [Queue] is a value without clock or lock: time is an
// argument, and its owner guards it. Nothing of it is durable: what a crash forgets
// the sweep at the next start finds by content hash.
package work
