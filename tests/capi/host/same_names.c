/* A host with functions of its own that are called like those of the libraries inside mixtura: the linker must take both,
 * and neither side may call the other's.  same_names TOKENIZER: prints the ids of a text. */
#include <mixtura/mixtura.h>

#include <stdio.h>
#include <string.h>

static int calls = 0;

void *pcre2_compile_8(const void *pattern);
void *pcre2_compile_8(const void *pattern) {
    ++calls;
    return (void *)(size_t)pattern;
}
int pcre2_match_8(void);
int pcre2_match_8(void) { return ++calls; }
const char *utf8proc_version(void);
const char *utf8proc_version(void) { return ++calls, "mine"; }
ptrdiff_t utf8proc_map(const void *text);
ptrdiff_t utf8proc_map(const void *text) { return ++calls, text == NULL; }

int main(int argc, char **argv) {
    static const char text[] = "It's 1,234 caf\xc3\xa9s\xe2\x80\xa6  OK?";
    mixtura_tokenizer *tokenizer = NULL;
    int32_t ids[64];
    size_t count = 0;
    if (argc != 2) return 2;
    if (mixtura_tokenizer_open(argv[1], &tokenizer) != MIXTURA_OK ||
        mixtura_tokenizer_encode(tokenizer, text, strlen(text), NULL, ids, 64, &count) != MIXTURA_OK) {
        fprintf(stderr, "%s\n", mixtura_last_error_message());
        return 1;
    }
    for (size_t i = 0; i < count; ++i) printf("%d ", (int)ids[i]);
    printf("\n");
    mixtura_tokenizer_destroy(tokenizer);
    if (calls != 0) fprintf(stderr, "the library called the host's functions %d times\n", calls);
    /* A program that never calls its own would lose them to --gc-sections. */
    return calls != 0 || pcre2_compile_8(text) != text || pcre2_match_8() != 2 || strcmp(utf8proc_version(), "mine") != 0 ||
           utf8proc_map(NULL) != 1;
}
