// Package wire holds the requests and replies of foldwatch's surfaces as JSON
// bodies. Command line, REST and MCP share them, so that a field has one name
// and one meaning everywhere.
package wire
