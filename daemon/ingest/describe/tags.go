package describe

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
)

// tagsOf returns at most six words that sort files: the language, what kind of
// file it is, what its path says it is about, and what its imports say.
func tagsOf(s *Subject, test, generated bool) []string {
	out := make([]string, 0, MaxTags)
	add := func(t string) {
		if len(t) >= 2 && len(t) <= 24 && len(out) < MaxTags && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if s.Language != "" {
		out = append(out, s.Language)
	}
	switch {
	case test:
		add("test")
	case isProse(s.Language):
		add("docs")
	case isData(s.Language):
		add("config")
	}
	if generated {
		add("generated")
	}
	area := Area(Stem(s.Path))
	if area != "" && !isData(s.Language) {
		add(area)
	}
	// The nearest folders say most.
	folders := 0
	for dir := path.Dir(s.Path); dir != "." && dir != "/" && folders < 2; dir = path.Dir(dir) {
		d := tagFolder(s.Language, strings.ToLower(path.Base(dir)))
		if d == "" {
			continue
		}
		if a := Area(d); a != "" {
			d = a
		}
		add(d)
		folders++
	}
	for _, raw := range s.Imports {
		if len(out) == MaxTags {
			break
		}
		for _, spec := range imports.Specs(s.Language, raw) {
			if t := topicOf(spec); t != "testing" || !test {
				add(t)
			}
		}
	}
	return out
}

// tagFolder returns a folder's name as a tag, "" if it says nothing about what
// is in it.
func tagFolder(language, d string) string {
	switch d {
	case "com", "org", "net", "io", "dev", "de", "uk": // the head of a Java package
		if language == "java" || language == "kotlin" || language == "scala" || d == "com" || d == "org" {
			return ""
		}
	case "", ".", "src", "lib", "libs", "internal", "pkg", "cmd", "app", "apps", "main", "java", "kotlin", "scala", "python", "dist", "build", "out", "target", "bin", "source", "sources", "include", "includes", "packages", "package", "modules", "module", "crates", "common", "core", "util", "utils", "helpers", "helper", "shared", "misc", "test", "tests", "__tests__", "testdata", "fixtures", "__fixtures__", "spec", "specs", "docs", "doc", "vendor", "third_party", "node_modules", "cjs", "esm", "mjs", "umd", "types", "project", "projects", "files", "resources", "assets", "static", "public", "code", "go", "rust", "js", "ts":
		return ""
	}
	if strings.HasPrefix(d, ".") || strings.HasPrefix(d, "@") {
		return ""
	}
	count := 0
	d = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r):
			count++
			return r
		case unicode.IsDigit(r):
			return r
		}
		return '-'
	}, d)
	if d = strings.Trim(d, "-"); count < 2 || count*2 < len(d) {
		return "" // a date, a version
	}
	return d
}

// Area returns the subject that the name of a file or folder stands for in
// most projects, "" if it stands for none.
func Area(name string) string {
	switch strings.TrimRight(name, "s") {
	case "auth", "authn", "authz", "authentication", "authorization", "login", "oauth", "oidc", "session", "acl", "rbac":
		return "auth"
	case "db", "database", "databa", "store", "storage", "persistence", "repository", "repositorie", "sql", "dao":
		return "database"
	case "migration", "migrate", "schema":
		return "database"
	case "api", "rest", "route", "router", "routing", "handler", "controller", "endpoint":
		return "api"
	case "component", "view", "ui", "widget", "screen", "layout":
		return "ui"
	case "cli", "command", "cmd":
		return "cli"
	case "log", "logging", "logger":
		return "logging"
	case "config", "conf", "configuration", "setting", "option":
		return "config"
	case "cache", "caching":
		return "cache"
	case "queue", "job", "worker", "scheduler", "task":
		return "jobs"
	case "parser", "lexer", "parse", "grammar", "tokenizer":
		return "parsing"
	case "crypto", "encryption", "cipher", "hash", "security":
		return "security"
	case "i18n", "locale", "l10n", "translation", "lang":
		return "i18n"
	case "metric", "telemetry", "tracing", "monitoring":
		return "monitoring"
	case "workflow":
		return "ci"
	case "example", "sample":
		return "example"
	case "mock", "fake", "stub":
		return "test"
	case "error", "exception":
		return "errors"
	case "middleware", "middlewares":
		return "middleware"
	}
	return ""
}

// topicOf returns the subject that importing a well-known module stands for, ""
// if it stands for none.
func topicOf(spec string) string {
	switch spec {
	case "net/http", "java.net.http", "http.server":
		return "http"
	case "database/sql", "java.sql":
		return "sql"
	case "sync", "sync/atomic", "threading", "multiprocessing", "concurrent.futures", "java.util.concurrent":
		return "concurrency"
	case "io/fs", "node:fs", "fs", "fs/promises", "node:fs/promises":
		return "filesystem"
	case "regexp", "re":
		return "regexp"
	case "testing", "unittest":
		return "testing"
	case "@angular/core":
		return "angular"
	}
	for at := 0; at < len(spec); {
		end := at
		for end < len(spec) && isWordByte(spec[end]) {
			end++
		}
		if t := topicWord(spec[at:end]); t != "" {
			return t
		}
		at = end + 1
	}
	return ""
}

func topicWord(w string) string {
	switch w {
	case "express", "axum", "fastapi", "flask", "django", "aiohttp", "hyper", "gin", "echo", "koa", "fastify", "requests", "axios", "reqwest", "httpx", "urllib", "actix_web":
		return "http"
	case "sqlite", "sqlite3", "postgres", "pgx", "psycopg2", "sqlalchemy", "sqlx", "mysql", "gorm", "knex", "prisma", "diesel", "hibernate", "jdbc":
		return "sql"
	case "crypto", "bcrypt", "openssl", "hashlib", "cryptography", "ring":
		return "crypto"
	case "json", "serde_json", "jackson", "gson":
		return "json"
	case "yaml", "pyyaml", "serde_yaml":
		return "yaml"
	case "xml", "lxml":
		return "xml"
	case "grpc", "tonic":
		return "grpc"
	case "graphql", "apollo":
		return "graphql"
	case "react", "preact":
		return "react"
	case "vue", "svelte", "redis", "kafka", "docker", "numpy", "pandas", "websocket", "git":
		return w
	case "torch":
		return "pytorch"
	case "tensorflow":
		return "tensorflow"
	case "websockets", "ws":
		return "websocket"
	case "cobra", "clap", "argparse", "commander", "yargs", "click", "urfave", "pflag", "optparse":
		return "cli"
	case "tokio", "asyncio", "rxjs":
		return "async"
	case "slog", "logging", "zap", "logrus", "winston", "pino", "log4j", "slf4j", "tracing":
		return "logging"
	case "k8s", "kubernetes":
		return "kubernetes"
	case "jest", "vitest", "mocha", "pytest", "junit", "chai", "sinon":
		return "testing"
	case "jsonwebtoken", "jwt", "passport", "oauth2":
		return "auth"
	case "gzip", "zlib", "zstd", "compress", "tar", "zip", "zipfile", "tarfile":
		return "compression"
	case "template", "jinja2", "handlebars", "ejs":
		return "template"
	case "boto3", "aws", "botocore":
		return "aws"
	case "smtp", "smtplib", "nodemailer", "email":
		return "email"
	}
	return ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
