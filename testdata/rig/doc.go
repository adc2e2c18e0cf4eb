// Package rig measures the built program from outside, on inputs too large for
// the ordinary tests: make accept, make crash and make bench run it with the
// build tag accept. Each measurement is bounded in count and time, and prints
// one line with its figures.
package rig
