// Parses files with the tree-sitter library and nothing else, and prints the
// bytes and the CPU seconds that took: the reference for our chunker.
//
// Standard input holds one line for each file: its language and, after a tab,
// its path. All files are read before the clock starts.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_go(void);
const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_python(void);

static const TSLanguage *language(const char *name) {
	if (!strcmp(name, "go")) return tree_sitter_go();
	if (!strcmp(name, "c")) return tree_sitter_c();
	if (!strcmp(name, "python")) return tree_sitter_python();
	return NULL;
}

typedef struct {
	const TSLanguage *language;
	char *text;
	uint32_t size;
} file;

static int load(file *f, const char *path) {
	FILE *in = fopen(path, "rb");
	if (!in) return 0;
	fseek(in, 0, SEEK_END);
	long size = ftell(in);
	rewind(in);
	f->text = malloc(size > 0 ? (size_t)size : 1);
	f->size = f->text ? (uint32_t)fread(f->text, 1, (size_t)size, in) : 0;
	fclose(in);
	return f->text && f->size == (uint32_t)size;
}

int main(void) {
	static char line[8192];
	size_t n = 0, room = 0;
	file *files = NULL;
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		char *path = strchr(line, '\t');
		if (!path) return 2;
		*path++ = 0;
		if (n == room) {
			room = room ? 2 * room : 1024;
			files = realloc(files, room * sizeof *files);
			if (!files) return 2;
		}
		files[n].language = language(line);
		if (!files[n].language || !load(&files[n], path)) {
			fprintf(stderr, "%s: cannot be read\n", path);
			return 2;
		}
		n++;
	}
	TSParser *parser = ts_parser_new();
	uint64_t bytes = 0;
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (size_t i = 0; i < n; i++) {
		ts_parser_set_language(parser, files[i].language);
		TSTree *tree = ts_parser_parse_string(parser, NULL, files[i].text, files[i].size);
		if (!tree) return 3;
		ts_tree_delete(tree);
		bytes += files[i].size;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%llu %.6f\n", (unsigned long long)bytes, (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	return 0;
}
