/* Ask a model one question from C: hello MODEL "Why is the sky blue?" */
#include <mixtura/mixtura.h>

#include <stdio.h>
#include <string.h>

static int print_piece(const char *utf8, size_t bytes, void *user_data) {
    fwrite(utf8, 1, bytes, (FILE *)user_data);
    return fflush((FILE *)user_data); /* anything but 0 ends the answer */
}

int main(int argc, char **argv) {
    mixtura_model *model = NULL;
    mixtura_chat *chat = NULL;
    mixtura_chat_options options = MIXTURA_CHAT_OPTIONS_INIT; /* NULL does too: then an answer ends where the model ends it */
    mixtura_request limits = MIXTURA_REQUEST_INIT;
    limits.tokens_max = 200;
    options.request = &limits;
    if (argc != 3) return fprintf(stderr, "usage: hello MODEL QUESTION\n"), 2;
    const int failed = mixtura_model_open(argv[1], NULL, &model) != MIXTURA_OK ||
                       mixtura_chat_create(model, &options, &chat) != MIXTURA_OK ||
                       mixtura_chat_add(chat, MIXTURA_ROLE_USER, argv[2], strlen(argv[2])) != MIXTURA_OK ||
                       mixtura_chat_reply(chat, print_piece, stdout, NULL) != MIXTURA_OK;
    if (failed) fprintf(stderr, "%s\n", mixtura_last_error_message()); /* one sentence: what, where, expected, found */
    mixtura_chat_destroy(chat);                                        /* in any order, and NULL is fine */
    mixtura_model_destroy(model);
    if (!failed) puts("");
    return failed;
}
