package fold_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
)

const example = `---
id: "1f2e3d4c5b6a7988"
title: Authentication Service
aliases: [Authentication Service]
memory_type: codebase
source: file
author: system
tags: [auth, security]
keywords: [validateToken, jwt, refresh]
context: Implements JWT-based authentication with refresh tokens. More.
file_path: src/auth/service.ts
language: typescript
source_blob: 8d0e41aabb
original_date: "2024-03-15"
created_at: 2026-02-03T10:30:00Z
updated_at: 2026-02-03T10:30:00Z
related_to: ["f0123456789abcde"]
depends_on: ["9a8b7c6d5e4f3021"]
---
# Authentication Service

This module implements …

## Key Components
- ` + "`AuthService`" + ` - main class

---

## Related

- [[f/0/f0123456789abcde|Authentication Middleware]]
- depends on [[9/a/9a8b7c6d5e4f3021|JWT decision]]
`

func titles(id fold.ID) string {
	return map[fold.ID]string{"f0123456789abcde": "Authentication Middleware", "9a8b7c6d5e4f3021": "JWT decision"}[id]
}

func TestEncodeExampleOfDesign(t *testing.T) {
	m, err := fold.Decode("my-app", "1/f/1f2e3d4c5b6a7988.md", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(fold.Encode(m, titles)); got != example {
		t.Errorf("Encode(Decode(example)): -want +got\n%s", cmp.Diff(example, got))
	}
}
