# tap.sh - checks for shell tests, reported on stdout in the Test Anything Protocol. Sourced.

tap_run=0
tap_failed=0

# report STATUS WHAT: one line; what is on stdin explains a failure.
tap_report() {
    tap_run=$((tap_run + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_run - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_run - $2"
        sed 's/^/# /'
    fi
}

# ok STATUS WHAT [FILE]: the status is 0; the file explains a failure.
ok() {
    tap_report "$1" "$2" <"${3:-/dev/null}"
}

# is GOT WANT WHAT: the texts are the same.
is() {
    [ "$1" = "$2" ]
    tap_report $? "$3" <<TAP_END
got  $1
want $2
TAP_END
}

# like GOT PATTERN WHAT: a line of the text matches the basic regular expression.
like() {
    printf '%s\n' "$1" | grep -q -e "$2"
    tap_report $? "$3" <<TAP_END
got  $1
want $2
TAP_END
}

# unlike GOT PATTERN WHAT: none does.
unlike() {
    ! printf '%s\n' "$1" | grep -q -e "$2"
    tap_report $? "$3" <<TAP_END
got  $1
not  $2
TAP_END
}

# skip N REASON: stand in for N checks that cannot be made here.
skip() {
    tap_left=$1
    while [ "$tap_left" -gt 0 ]; do
        tap_run=$((tap_run + 1))
        tap_left=$((tap_left - 1))
        echo "ok $tap_run # SKIP $2"
    done
}

# skip_all REASON: end the test, before its first check.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# bail REASON: end the test, which cannot go on.
bail() {
    echo "Bail out! $1"
    exit 1
}

# finish: print the plan and end with its status; the last line of a test.
finish() {
    echo "1..$tap_run"
    [ "$tap_failed" -eq 0 ]
    exit
}
