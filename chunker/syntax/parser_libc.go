//go:build cgo && (linux || darwin)

package syntax

/*
#cgo darwin LDFLAGS: -Wl,-undefined,dynamic_lookup
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

// What is used here of tree_sitter/api.h of go-tree-sitter v0.25.0, whose
// library this links to. The header itself lies in the module cache, where cgo
// does not look. The symbols are weak since cgo links each package alone once.
typedef struct TSParser TSParser;
typedef struct TSTree TSTree;
typedef struct TSLanguage TSLanguage;
typedef struct { uint32_t row, column; } TSPoint;
typedef struct {
	void *payload;
	const char *(*read)(void *payload, uint32_t byte, TSPoint at, uint32_t *size);
	int encoding; // 0 is UTF-8
	uint32_t (*decode)(const uint8_t *, uint32_t, int32_t *);
} TSInput;
typedef struct { void *payload; uint32_t current_byte_offset; bool has_error; } TSParseState;
typedef struct { void *payload; bool (*progress_callback)(TSParseState *); } TSParseOptions;

#define WEAK __attribute__((weak))
WEAK void ts_set_allocator(void *(*)(size_t), void *(*)(size_t, size_t), void *(*)(void *, size_t), void (*)(void *));
WEAK TSParser *ts_parser_new(void);
WEAK void ts_parser_delete(TSParser *);
WEAK bool ts_parser_set_language(TSParser *, const TSLanguage *);
WEAK TSTree *ts_parser_parse_with_options(TSParser *, const TSTree *, TSInput, TSParseOptions);

typedef struct {
	const char *src;
	uint32_t size;
	int64_t deadline; // ns of this thread's CPU time
	bool late;
} fold_job;

// CPU time, so that what a file is cut into does not depend on how busy the
// machine is. The pool's deadline is by the wall clock.
static int64_t fold_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *fold_read(void *payload, uint32_t byte, TSPoint at, uint32_t *size) {
	fold_job *job = payload;
	(void)at;
	if (byte >= job->size) {
		*size = 0;
		return "";
	}
	*size = job->size - byte;
	return job->src + byte;
}

static bool fold_late(TSParseState *state) {
	fold_job *job = state->payload;
	job->late = job->late || fold_now() > job->deadline;
	return job->late;
}

// fold_parse returns NULL, and sets *late, if the parse took more CPU time than ns.
static TSTree *fold_parse(TSParser *p, const TSLanguage *lang, const char *src, uint32_t size, int64_t ns, bool *late) {
	fold_job job = {src, size, fold_now() + ns, false};
	TSInput in = {&job, fold_read, 0, NULL};
	TSParseOptions opt = {&job, fold_late};
	TSTree *tree = NULL;
	if (ts_parser_set_language(p, lang)) {
		tree = ts_parser_parse_with_options(p, NULL, in, opt);
	}
	*late = job.late;
	return tree;
}

static void fold_libc_allocator(void) { ts_set_allocator(NULL, NULL, NULL, NULL); }
static TSParser *fold_parser_new(void) { return ts_parser_new(); }
static void fold_parser_delete(TSParser *p) { ts_parser_delete(p); }
*/
import "C"

import (
	"sync"
	"time"
	"unsafe"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// useLibc undoes what the init of go-tree-sitter does: it has C call Go, and Go
// call C, for each allocation, which halves the speed. Both allocators are libc's
// in the end, so what one gave the other may free.
var useLibc = sync.OnceFunc(func() { C.fold_libc_allocator() })

// A treeParser is one tree-sitter parser, for one file at a time. It calls the C
// library itself: the binding copies the source twice for each time it is read,
// keeps all copies until the parse ends, and leaks its options
// (tree-sitter/go-tree-sitter#51). Here C reads the Go slice where it lies.
type treeParser struct{ c *C.TSParser }

func newTreeParser() *treeParser {
	useLibc()
	return &treeParser{c: C.fold_parser_new()}
}

func (p *treeParser) close() {
	if p.c != nil {
		C.fold_parser_delete(p.c)
		p.c = nil
	}
}

// parse returns nil, and whether that was for time, if there is no tree. The
// caller closes the tree.
func (p *treeParser) parse(lang *sitter.Language, src []byte, deadline time.Duration) (_ *sitter.Tree, late bool) {
	if len(src) == 0 {
		return nil, false
	}
	var cLate C.bool
	tree := C.fold_parse(p.c, (*C.TSLanguage)(unsafe.Pointer(lang.Inner)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(src))), C.uint32_t(len(src)), C.int64_t(deadline), &cLate)
	if tree == nil {
		// The next parse would go on with this one, and ts_parser_reset is not
		// enough: in v0.25.0 it forgets canceled_balancing, and an assertion
		// ends the process if it was the balancing that took too long.
		p.close()
		p.c = C.fold_parser_new()
		return nil, bool(cLate)
	}
	// A sitter.Tree is one pointer to the tree in C and has no constructor; a
	// test holds its size to that.
	t := new(sitter.Tree)
	*(**C.TSTree)(unsafe.Pointer(t)) = tree
	return t, false
}
