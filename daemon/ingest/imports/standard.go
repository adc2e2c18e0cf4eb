package imports

import "strings"

// IsStandard reports whether an import that leads to no file of the tree comes
// with the language.
func IsStandard(language, spec string) bool {
	switch language {
	case "go":
		first, _, _ := strings.Cut(spec, "/")
		return !strings.Contains(first, ".")
	case "rust":
		first, _, _ := strings.Cut(spec, "::")
		return first == "std" || first == "core" || first == "alloc" || first == "proc_macro"
	case "java", "kotlin", "scala":
		return strings.HasPrefix(spec, "java.") || strings.HasPrefix(spec, "javax.") || strings.HasPrefix(spec, "kotlin.") || strings.HasPrefix(spec, "scala.")
	case "csharp":
		return spec == "System" || strings.HasPrefix(spec, "System.")
	case "javascript", "typescript", "tsx", "vue", "svelte":
		if strings.HasPrefix(spec, "node:") {
			return true
		}
		first, _, _ := strings.Cut(spec, "/")
		return isNodeModule(first)
	case "python":
		first, _, _ := strings.Cut(spec, ".")
		return isPythonModule(first)
	case "c", "cpp", "objc", "objectivec", "cuda":
		return isCHeader(spec)
	case "zig":
		return spec == "std" || spec == "builtin"
	}
	return false
}

func isNodeModule(name string) bool {
	switch name {
	case "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram", "diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net", "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream", "string_decoder", "timers", "tls", "tty", "url", "util", "v8", "vm", "wasi", "worker_threads", "zlib":
		return true
	}
	return false
}

func isPythonModule(name string) bool {
	switch name {
	case "__future__", "abc", "argparse", "array", "ast", "asyncio", "atexit", "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "calendar", "cmath", "cmd", "code", "codecs", "collections", "colorsys", "compileall", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "ctypes", "curses", "dataclasses", "datetime", "decimal", "difflib", "dis", "doctest", "email", "encodings", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "imaplib", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging", "lzma", "mailbox", "marshal", "math", "mimetypes", "mmap", "multiprocessing", "netrc", "numbers", "opcode", "operator", "optparse", "os", "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "platform", "plistlib", "poplib", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pydoc", "queue", "quopri", "random", "re", "readline", "reprlib", "resource", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtplib", "socket", "socketserver", "sqlite3", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "symtable", "sys", "sysconfig", "syslog", "tarfile", "tempfile", "termios", "textwrap", "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "tty", "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
		"_thread", "_weakref", "_collections_abc", "_io", "_socket", "_sqlite3", "_ssl", "_struct", "_csv", "_json", "_asyncio":
		return true
	}
	return false
}

func isCHeader(name string) bool {
	if strings.HasPrefix(name, "sys/") || strings.HasPrefix(name, "netinet/") || strings.HasPrefix(name, "arpa/") || strings.HasPrefix(name, "linux/") {
		return true
	}
	base, isH := strings.CutSuffix(name, ".h")
	if !isH {
		return !strings.ContainsAny(name, "./") // <vector>, <string>
	}
	switch base {
	case "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string", "strings", "tgmath", "threads", "time", "uchar", "wchar", "wctype",
		"unistd", "fcntl", "dirent", "pthread", "dlfcn", "netdb", "poll", "pwd", "grp", "regex", "sched", "semaphore", "spawn", "syslog", "termios", "utime", "glob", "getopt", "malloc", "alloca", "endian", "windows", "winsock2", "io":
		return true
	}
	return false
}
