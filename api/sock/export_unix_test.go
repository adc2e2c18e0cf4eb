//go:build unix

package sock

// FromFile is Inherited for a descriptor that a test has.
var FromFile = fromFile
