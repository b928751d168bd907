/* config_cmd.c - `rankclock config`: the table of variables, as it is in this environment or as
 * rankclock(7) prints it. */
#include "autoconf.h"

#include "text.h"
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

extern char **environ;

enum { NAME_COLUMNS = 28, ROFF_COLUMNS = 78, PREFIX = sizeof "RANKCLOCK" - 1 };

static int help(void)
{
    puts("usage: rankclock config [OPTION]...\n"
         "\n"
         "List the environment variables of rankclock with their values here. Values that are\n"
         "malformed, and variables that do not exist, are marked with \"!\"; then the exit status\n"
         "is 1.\n"
         "\n"
         "      --man   the variables as a section of a manual page\n"
         "  -h, --help  this text");
    return RKC_EXIT_OK;
}

/* Text for a manual page: a backslash, and a dot or quote at the start of a line, would be
 * commands, and a sentence begins on a new line. */
static void print_roff(const char *text)
{
    while (*text) {
        char sentence[2048];
        size_t used = 0;
        for (; *text && used + 4 < sizeof sentence; text++) {
            int starts = used == 0 || text[-1] == ' ';
            if (*text == '\\' || (starts && (*text == '.' || *text == '\'')))
                sentence[used++] = '\\';
            if (starts && (*text == '.' || *text == '\''))
                sentence[used++] = '&';
            sentence[used++] = *text == '\\' ? 'e' : *text;
            if (text[0] == '.' && text[1] == ' ') {
                text += 2;
                break;
            }
        }
        sentence[used] = '\0';
        rkc_text_wrap(stdout, sentence, 0, ROFF_COLUMNS);
    }
}

static void print_man(void)
{
    size_t n;
    const struct rkc_setting *settings = rkc_config_settings(&n);
    for (size_t i = 0; i < n; i++) {
        printf(".It Ev %s Pq ", settings[i].name);
        printf(settings[i].fallback[0] ? "Ql %s\n" : "none\n", settings[i].fallback);
        char meaning[2048];
        snprintf(meaning, sizeof meaning, "%s.", settings[i].meaning);
        print_roff(meaning);
    }
}

/* Print a variable; whether it is well-formed. */
static int print_setting(const struct rkc_setting *setting, int utf8)
{
    const char *value = getenv(setting->name);
    char why[256] = "", clean[RKC_PATTERN_MAX], line[RKC_PATTERN_MAX + 64];
    int is_right = !value || rkc_config_check(setting->name, value, why, sizeof why) == 0;
    rkc_text_clean(value ? value : setting->fallback, utf8, clean, sizeof clean);
    snprintf(line, sizeof line, "%s%s", clean[0] ? clean : "(empty)", value ? "" : "  (default)");
    printf("%c %-*s%s\n", is_right ? ' ' : '!', NAME_COLUMNS, setting->name, line);
    if (!is_right)
        printf("    malformed, and so the default %s is used: %s\n",
               setting->fallback[0] ? setting->fallback : "(empty)", why);
    fputs("    ", stdout);
    rkc_text_wrap(stdout, setting->meaning, 4, 100);
    return is_right;
}

/* Mark variables that look like ours and are not; whether there are none. */
static int print_unknown(const struct rkc_setting *settings, size_t n, int utf8)
{
    const char **names = calloc(n + 1, sizeof *names);
    int none = 1;
    for (size_t i = 0; names && i < n; i++)
        names[i] = settings[i].name;
    for (char **entry = environ; names && *entry; entry++) {
        char name[256], clean[256], why[256];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "RANKCLOCK", PREFIX) != 0 || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *entry);
        if (rkc_config_check(name, *entry + length + 1, why, sizeof why) != RKC_ENOTFOUND)
            continue;
        const char *nearest = rkc_tool_nearest(name, names, n);
        rkc_text_clean(name, utf8, clean, sizeof clean);
        printf("! %-*sno such variable%s%s%s\n", NAME_COLUMNS, clean,
               nearest ? ": did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
        none = 0;
    }
    free(names);
    return none;
}

int rkc_tool_config(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help();
        if (strcmp(argv[i], "--man") != 0)
            return rkc_tool_usage("config", "no option", argv[i]);
        print_man();
        return RKC_EXIT_OK;
    }
    size_t n;
    const struct rkc_setting *settings = rkc_config_settings(&n);
    int utf8 = rkc_text_utf8(), all_right = 1;
    for (size_t i = 0; i < n; i++)
        all_right &= print_setting(&settings[i], utf8);
    all_right &= print_unknown(settings, n, utf8);
    return all_right ? RKC_EXIT_OK : RKC_EXIT_FAILED;
}
