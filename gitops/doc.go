// Package gitops is foldwatch's dealings with git: where a checkout and its
// git directory lie, what the user's repository holds (read by the git program
// only, so that nothing configured there runs), and the store: a repository of
// our own beside the user's, in which every change of fold/ is kept.
//
// In the user's git directory nothing is written but the folder foldwatch/.
// Rules cited as G1…G20 and F01…F64 are those of the project's git and threat
// documents.
package gitops
