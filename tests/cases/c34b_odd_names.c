/* Names as programs make them: with a slash, a space, letters beyond ASCII, of the greatest
 * length; and what is no name at all - NULL, empty, too long - is refused and times nothing.
 *
 * RUN np=2
 * REGION * "a/b" visits=1 unclosed=0 parent=(run)
 * REGION * b visits=1 parent=a
 * REGION * a visits=1 parent=(run)
 * REGION * "two words" visits=1 parent=(run)
 * REGION * "größe ∇²φ" visits=1 parent=(run)
 * REGION * x{255} visits=1 parent=(run)
 * REGION * x{256} visits=0
 * REGION * x{300} visits=0
 * REGION * "" visits=0
 * REGION * after visits=1 parent=(run)
 * VISITS * user=7
 * NOTES bad_name count>=5
 * STDERR <=8
 */
#include "case.h"

static void pair(const char *name, int good)
{
    int began = region_begin(name), ended = region_end(name);

    CHECK(!region_present() || (good ? began == 0 && ended == 0 : began < 0 && ended < 0));
}

static void pair_of_length(int length, int good)
{
    char name[512] = "";

    memset(name, 'x', length);
    pair(name, good);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    pair("a/b", 1);
    region_begin("a");
    pair("b", 1);
    region_end("a");
    pair("two words", 1);
    pair("größe ∇²φ", 1);
    pair_of_length(255, 1);
    pair_of_length(256, 0);
    pair_of_length(300, 0);
    pair("", 0);
    pair(NULL, 0);
    pair("after", 1);
    case_done();
    MPI_Finalize();
    return 0;
}
