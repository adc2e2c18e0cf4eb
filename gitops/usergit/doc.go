// Package usergit reads the repository of the user: where its folders lie and whom it
// belongs to, which files it has, what HEAD, branches and history hold. It is read by
// the git program with a clean environment, so that nothing configured there runs.
//
// What writes is named for it, and only for commands that the user typed: CommitPaths,
// PublishFiles, SetMergeDriver and UnsetMergeDriver. They run the user's own git.
//
// A Repo holds no state and is safe for concurrent use; most calls start git and block
// for as long as it takes.
package usergit
