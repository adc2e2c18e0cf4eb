// Package conf reads how foldwatch is set up: where its folders lie, the
// user's config.toml, and the project.toml of a checkout, which nobody need
// trust. It also edits other programs' TOML and JSON files without touching a
// byte it does not own.
//
// The user file decides; a project file only names the project and narrows
// what is indexed. All functions are pure but for [Load], which reads one file,
// and [Locate], which looks at the owner of a folder. All are safe for
// concurrent use.
package conf
