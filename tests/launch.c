/* launch.c - every rank gets the library, and no word of the user's is lost or misread. */
#include "autoconf.h"

#include "../tools/launch.h"

#include "tap.h"

enum { WORDS_MAX = 64, TEXT_MAX = 2048 };

static const char *const names[] = {"RANKCLOCK_A", "RANKCLOCK_B", NULL};
static const struct rkc_launch usual = {"/l.so", names, NULL, NULL, NULL};

/* What -x, a list and --export say of the variables besides LD_PRELOAD. */
#define X "-x RANKCLOCK_A -x RANKCLOCK_B"
#define LIST "RANKCLOCK_A;RANKCLOCK_B"
#define EXPORT "RANKCLOCK_A,RANKCLOCK_B"

static size_t split(char *text, char *argv[WORDS_MAX])
{
    size_t n = 0;
    char *state = NULL;
    for (char *word = strtok_r(text, " ", &state); word; word = strtok_r(NULL, " ", &state))
        argv[n++] = word;
    argv[n] = NULL;
    return n;
}

/* Rewrite a command of words apart by blanks; the result in the same form. */
static const char *rewrite_as(const char *command, enum rkc_launcher asked,
                              const struct rkc_launch *launch, struct rkc_launched *launched)
{
    static char result[TEXT_MAX];
    char text[TEXT_MAX], *argv[WORDS_MAX];
    snprintf(text, sizeof text, "%s", command);
    split(text, argv);
    struct rkc_launch_place place = rkc_launch_find(argv);
    if (place.launcher == RKC_LAUNCH_ASK)
        place.launcher = asked;
    if (rkc_launch_rewrite(argv, &place, launch, launched) != 0)
        return NULL;
    result[0] = '\0';
    for (char **word = launched->argv; *word; word++) {
        strcat(result, word == launched->argv ? "" : " ");
        strcat(result, *word);
    }
    return result;
}

static void check(const char *command, enum rkc_launcher asked, const struct rkc_launch *launch,
                  const char *want, const char *what)
{
    struct rkc_launched launched;
    is_str(rewrite_as(command, asked, launch, &launched), want, what);
    rkc_launched_free(&launched);
}

static int launcher_in(const char *command)
{
    char text[TEXT_MAX], *argv[WORDS_MAX];
    snprintf(text, sizeof text, "%s", command);
    split(text, argv);
    return (int)rkc_launch_find(argv).launcher;
}

static size_t word_in(const char *command)
{
    char text[TEXT_MAX], *argv[WORDS_MAX];
    snprintf(text, sizeof text, "%s", command);
    split(text, argv);
    return rkc_launch_find(argv).word;
}

static void test_find(void)
{
    is_int(launcher_in("mpirun -n 2 ./p"), RKC_LAUNCH_ASK, "mpirun may be anybody's");
    is_int(launcher_in("/opt/x/bin/orterun ./p"), RKC_LAUNCH_OPENMPI,
           "a launcher is known with its path");
    is_int(launcher_in("mpiexec.hydra ./p"), RKC_LAUNCH_HYDRA, "hydra by its own name");
    is_int(launcher_in("srun ./p"), RKC_LAUNCH_SRUN, "srun");
    is_int(launcher_in("./p mpirun"), RKC_LAUNCH_NONE, "an argument is no launcher");
    is_int((int64_t)word_in("timeout -k 5 60 mpirun ./p"), 4,
           "timeout, its options and its time are skipped");
    is_int(launcher_in("timeout 60 grep mpirun ./p"), RKC_LAUNCH_NONE,
           "nor is one of a program behind timeout");
    is_int((int64_t)word_in("env -u A B=c nice -n 5 mpirun ./p"), 7, "env and nice nest");
    is_int((int64_t)word_in("taskset -c 0-3 time -p mpirun ./p"), 5, "taskset and time");
    is_int(launcher_in("env"), RKC_LAUNCH_NONE, "a prefix without a command");
    is_int(rkc_launch_identify("mpirun (Open MPI) 4.1.4\n"), RKC_LAUNCH_OPENMPI,
           "Open MPI 4's version");
    is_int(rkc_launch_identify("mpirun (PRRTE) 3.0\n"), RKC_LAUNCH_OPENMPI, "Open MPI 5's version");
    is_int(rkc_launch_identify("HYDRA build details:\n Version: 4.0.2\n"), RKC_LAUNCH_HYDRA,
           "hydra's version");
    is_int(rkc_launch_identify(""), RKC_LAUNCH_OTHER, "no version, no launcher known");
}

static void test_preload(void)
{
    static const struct {
        const char *preload, *want, *what;
    } cases[] = {
        {NULL, "/l.so", "alone where nothing is preloaded"},
        {"", "/l.so", "alone where the variable is empty"},
        {"/a.so", "/a.so:/l.so", "behind the user's library"},
        {"/a.so /b.so", "/a.so /b.so:/l.so", "a list with blanks is kept"},
        {"/a.so:/l.so", "/a.so:/l.so", "not twice"},
        {"/l.so.1", "/l.so.1:/l.so", "another library of a longer name is not it"},
        {"/x/l.so", "/x/l.so:/l.so", "nor one in another folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = rkc_launch_preload(cases[i].preload, "/l.so");
        is_str(got, cases[i].want, cases[i].what);
        free(got);
    }
}

static void test_openmpi(void)
{
    struct rkc_launch preloaded = usual, listed = usual;
    preloaded.preload = "/a.so";
    listed.env_list = "A=1;B";
    const enum rkc_launcher ompi = RKC_LAUNCH_OPENMPI;

    check("mpirun -n 4 ./p -x y", ompi, &usual, "mpirun -x LD_PRELOAD=/l.so " X " -n 4 ./p -x y",
          "-x stands before the options, and the program's own -x is left alone");
    check("mpirun -n 1 ./p : -n 2 ./q a : ./r", ompi, &usual,
          "mpirun -x LD_PRELOAD=/l.so " X " -n 1 ./p : -x LD_PRELOAD=/l.so " X " -n 2 ./q a : "
          "-x LD_PRELOAD=/l.so " X " ./r",
          "each application context gets its own");
    check("mpirun ./p", ompi, &preloaded, "mpirun -x LD_PRELOAD=/a.so:/l.so " X " ./p",
          "what is preloaded already comes along");
    check("mpirun -x LD_PRELOAD=/u.so -x C ./p", ompi, &preloaded,
          "mpirun " X " -x LD_PRELOAD=/u.so:/l.so -x C ./p",
          "a user's -x LD_PRELOAD=value is extended");
    check("mpirun -x LD_PRELOAD ./p", ompi, &preloaded,
          "mpirun " X " -x LD_PRELOAD=/a.so:/l.so ./p", "and one that names the environment's");
    check("mpirun -np 2 --hostfile LD_PRELOAD -wdir -x ./p", ompi, &usual,
          "mpirun -x LD_PRELOAD=/l.so " X " -np 2 --hostfile LD_PRELOAD -wdir -x ./p",
          "values of options are no options");
    check("mpirun --mca mca_base_env_list A=1;B --mca btl self ./p", ompi, &usual,
          "mpirun --mca mca_base_env_list A=1;B;LD_PRELOAD=/l.so;" LIST " --mca btl self ./p",
          "a list on the command line is extended, without any -x");
    check("mpirun -n 1 ./p : -mca mca_base_env_list LD_PRELOAD=/u.so -n 1 ./q", ompi, &usual,
          "mpirun -n 1 ./p : -mca mca_base_env_list LD_PRELOAD=/u.so:/l.so;" LIST " -n 1 ./q",
          "in whatever context it stands");
    check("mpirun ./p --mca mca_base_env_list A", ompi, &usual,
          "mpirun -x LD_PRELOAD=/l.so " X " ./p --mca mca_base_env_list A",
          "but not one of the program's own");
    check("env LD_PRELOAD=/e.so mpirun ./p", ompi, &usual,
          "env LD_PRELOAD=/e.so mpirun -x LD_PRELOAD=/e.so:/l.so " X " ./p",
          "what env sets for mpirun is what is extended");
    check("mpirun -n 2 env LD_PRELOAD=/e.so ./p", ompi, &usual,
          "mpirun -x LD_PRELOAD=/l.so " X " -n 2 env LD_PRELOAD=/e.so:/l.so ./p",
          "what env sets for the program is extended, too");

    struct rkc_launched launched;
    is_str(rewrite_as("mpirun ./p", ompi, &listed, &launched), "mpirun ./p",
           "with a list in the environment the command stays");
    is_str(launched.env_list, "A=1;B;LD_PRELOAD=/l.so;" LIST, "and the list is extended");
    ok(!launched.preload, "mpirun itself is not preloaded");
    rkc_launched_free(&launched);
    check("env OMPI_MCA_mca_base_env_list=C mpirun ./p", ompi, &usual,
          "env OMPI_MCA_mca_base_env_list=C;LD_PRELOAD=/l.so;" LIST " mpirun ./p",
          "a list that env sets is extended there");

    is_str(rewrite_as("mpirun -np 1 --app file", ompi, &usual, &launched),
           "mpirun -x LD_PRELOAD=/l.so " X " -np 1 --app file", "an application file is found");
    is_str(launched.argv[launched.app_file], "file", "by its index");
    rkc_launched_free(&launched);
    char *text =
        rkc_launch_app_file("# two programs\n-n 1 ./p\n\n-x LD_PRELOAD=/u.so ./q x", &usual);
    is_str(text, "-x LD_PRELOAD=/l.so " X " -n 1 ./p\n" X " -x LD_PRELOAD=/u.so:/l.so ./q x\n",
           "and each of its lines is a context");
    free(text);
}

static void test_hydra(void)
{
    const enum rkc_launcher hydra = RKC_LAUNCH_HYDRA;
    struct rkc_launch preloaded = usual;
    preloaded.preload = "/a.so";
    check("mpiexec -n 4 ./p -genv LD_PRELOAD /x.so", hydra, &preloaded,
          "mpiexec -genv LD_PRELOAD /a.so:/l.so -n 4 ./p -genv LD_PRELOAD /x.so",
          "-genv, once, and the program's words are left alone");
    check("mpiexec -genv LD_PRELOAD /u.so -n 1 ./p : -env LD_PRELOAD /v.so ./q", hydra, &usual,
          "mpiexec -genv LD_PRELOAD /l.so -genv LD_PRELOAD /u.so:/l.so -n 1 ./p : "
          "-env LD_PRELOAD /v.so:/l.so ./q",
          "a user's own values are extended, for they win");
}

static void test_srun(void)
{
    const enum rkc_launcher srun = RKC_LAUNCH_SRUN;
    struct rkc_launch preloaded = usual, exported = usual;
    preloaded.preload = "/a,b.so";
    exported.export_env = "NONE";
    check("srun -n 4 --mpi pmix ./p --export=x", srun, &usual,
          "srun --export=ALL,LD_PRELOAD=/l.so," EXPORT " -n 4 --mpi pmix ./p --export=x",
          "everything, and ours");
    check("srun --export=NONE ./p", srun, &usual, "srun --export=LD_PRELOAD=/l.so," EXPORT " ./p",
          "nothing but ours");
    check("srun --export A,LD_PRELOAD=/u.so ./p", srun, &usual,
          "srun --export A,LD_PRELOAD=/u.so:/l.so," EXPORT " ./p", "a user's list, and ours");
    check("srun ./p", srun, &exported, "srun --export=LD_PRELOAD=/l.so," EXPORT " ./p",
          "SLURM_EXPORT_ENV counts where there is no option");
    check("srun -n 1 ./p : -n 1 ./q", srun, &usual,
          "srun --export=ALL,LD_PRELOAD=/l.so," EXPORT " -n 1 ./p : "
          "--export=ALL,LD_PRELOAD=/l.so," EXPORT " -n 1 ./q",
          "each component of the step");
    struct rkc_launched launched;
    is_str(rewrite_as("srun ./p", srun, &preloaded, &launched),
           "srun --export=ALL,LD_PRELOAD," EXPORT " ./p",
           "what is preloaded already is handed on by its name");
    is_str(launched.preload, "/a,b.so:/l.so", "and set for srun");
    rkc_launched_free(&launched);
    check("env LD_PRELOAD=/e.so srun --export=LD_PRELOAD=/u.so ./p", srun, &usual,
          "env LD_PRELOAD=/e.so:/l.so srun --export=LD_PRELOAD=/u.so:/l.so," EXPORT " ./p",
          "by env as well; a user's value in the list stays one");
}

static void test_none(void)
{
    struct rkc_launched launched;
    is_str(rewrite_as("./p -x : y", RKC_LAUNCH_NONE, &usual, &launched), "./p -x : y",
           "a program runs as it is");
    is_str(launched.preload, "/l.so", "with LD_PRELOAD in its environment");
    rkc_launched_free(&launched);
    check("env LD_PRELOAD=/e.so ./p", RKC_LAUNCH_NONE, &usual, "env LD_PRELOAD=/e.so:/l.so ./p",
          "which env does not undo");
    is_str(rewrite_as("aprun -n 2 ./p", RKC_LAUNCH_NONE, &usual, &launched), "aprun -n 2 ./p",
           "a launcher that hands on its environment");
    is_str(launched.preload, "/l.so", "gets it there");
    rkc_launched_free(&launched);
}

int main(void)
{
    test_find();
    test_preload();
    test_openmpi();
    test_hydra();
    test_srun();
    test_none();
    return done_testing();
}
