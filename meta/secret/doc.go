// Package secret finds credentials in text, and names the files that hold
// nothing else.
//
// The rules are those of gitleaks. They are regular expressions, too slow to
// run over every source file, so each is only tried in the neighbourhood of a
// word it cannot match without. What is found is told by rule and line; the
// value itself never leaves the package.
package secret
