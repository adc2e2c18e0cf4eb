package main

import (
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// guesses are commands that people try, by the command that they try them of, and what
// they mean: the nearest spelling is often another thing. ID, TEXT and QUERY stand for
// what was said after the guess.
var guesses = map[string]map[string]string{
	"foldwatch": {
		"stop quit shutdown kill":    "foldwatch service stop",
		"restart reload":             "foldwatch service restart",
		"start daemon run":           "foldwatch up -d; or, after every login too: foldwatch service install",
		"init watch":                 "foldwatch up",
		"server":                     "foldwatch serve",
		"logs":                       "foldwatch service logs; of memories: foldwatch log",
		"install enable":             "foldwatch service install",
		"uninstall disable":          "foldwatch service uninstall",
		"list ls memories":           "foldwatch memory list; of checkouts: foldwatch projects",
		"edit update change":         "foldwatch memory edit ID",
		"rm delete del":              "foldwatch memory rm ID; of a checkout: foldwatch remove",
		"new create write note":      "foldwatch memory add TEXT",
		"remember remember-episode":  "foldwatch memory add TEXT",
		"get cat view read open":     "foldwatch show ID",
		"find query grep ask recall": "foldwatch search QUERY",
		"register":                   "foldwatch add PATH",
		"unregister":                 "foldwatch remove",
		"forget":                     "foldwatch memory rm ID; what it was stays in foldwatch log",
		"relate":                     "foldwatch link add SRC DST --type NAME",
		"stats":                      "foldwatch status",
		"embed":                      "foldwatch index; with which model: foldwatch model list",
		"export":                     "foldwatch memory list; each memory is a markdown file under fold/",
		"import":                     "foldwatch memory adopt --all; for markdown files that you have put under fold/",
		"global":                     "foldwatch search --all-projects QUERY",
		"ui web":                     "foldwatch memory list; of changes: foldwatch log",
		"project":                    "foldwatch projects",
		"ps info health":             "foldwatch status",
		"check fix repair diagnose":  "foldwatch doctor",
		"reindex":                    "foldwatch index",
		"push pull":                  "foldwatch sync",
		"history commits":            "foldwatch log",
		"undo revert":                "foldwatch restore ID",
		"links":                      "foldwatch link list ID",
		"tokens login":               "foldwatch token list",
		"models":                     "foldwatch model list",
		"settings":                   "foldwatch config show --origin",
		"connect agents":             "foldwatch setup",
		"upgrade self-update":        "foldwatch version; it is renewed by what installed it",
	},
	"foldwatch memory": {
		"delete del remove":         "foldwatch memory rm ID",
		"ls":                        "foldwatch memory list",
		"new create write remember": "foldwatch memory add TEXT",
		"show get cat view read":    "foldwatch show ID",
		"search find query":         "foldwatch search QUERY",
		"update change":             "foldwatch memory edit ID",
		"restore undo":              "foldwatch restore ID",
		"log history":               "foldwatch log ID",
	},
	"foldwatch link": {
		"delete del remove unlink": "foldwatch link rm LINKID",
		"ls show":                  "foldwatch link list ID",
		"new create":               "foldwatch link add SRC DST",
	},
	"foldwatch service": {
		"enable":         "foldwatch service install",
		"disable remove": "foldwatch service uninstall",
		"log":            "foldwatch service logs",
		"up run":         "foldwatch service start",
		"kill down":      "foldwatch service stop",
		"reload":         "foldwatch service restart",
		"show info":      "foldwatch service status",
	},
	"foldwatch token": {
		"ls show":          "foldwatch token list",
		"new add":          "foldwatch token create --name NAME",
		"rm delete remove": "foldwatch token revoke ID",
	},
	"foldwatch model": {
		"ls show":                      "foldwatch model list",
		"add get install download new": "foldwatch model pull NAME",
		"set select":                   "foldwatch model use NAME",
	},
}

// guessed returns the command that somebody means who tries another; "" where that is
// not known. Parent is the path of the command that was tried of, args what was said.
func guessed(parent string, args []string) string {
	for words, means := range guesses[parent] {
		for word := range strings.FieldsSeq(words) {
			if !strings.EqualFold(word, args[0]) {
				continue
			}
			rest := strings.Join(args[1:], " ")
			for _, blank := range []string{" ID", " TEXT", " QUERY"} {
				if first, more, ok := strings.Cut(means, blank); ok && rest != "" && (more == "" || more[0] == ';') {
					return first + " " + terminal.Quote(rest) + more
				}
			}
			return means
		}
	}
	return ""
}
