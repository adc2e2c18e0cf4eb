package gitops

// References of our own repository; [gitsync.RefBranch] and its kind are the others.
const (
	refJournal = "refs/foldwatch/journal" // every settled change

	// refDescribed names a tree, laid out as fold/, of what was last said of
	// each source file before any merge. It is local and never published.
	refDescribed = "refs/foldwatch/described"
)
