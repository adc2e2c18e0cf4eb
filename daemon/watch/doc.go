// Package watch tells, in settled batches, which files of a checkout may have
// changed.
//
// Events are hints: they can be late, doubled or lost, and what they name may
// be gone by the time it is read. Content hashes decide. What the package does
// promise is that after any loss it knows of (a full event queue, a watch that
// could not be set, a watcher that died) it says Reconcile, and that it says so
// every few minutes anyway.
//
// Only directories are watched. A watch on a file dies when an editor saves by
// renaming a new file over it; and directories that are pruned (ignored trees)
// are never watched, so a build costs nothing. Links are not followed.
//
// Linux: one inotify watch per directory, limited per user by
// fs.inotify.max_user_watches. macOS and the BSDs: one open file per directory
// and per file in it, so that only a budget of them is watched and the rest is
// swept. Windows: a buffer per directory, which may overflow.
package watch
