# fortran_names.awk - from the rows of *.def: the names of Fortran, which has no cases, as macros.
BEGIN { print "/* Made from fortran.def by fortran_names.awk. */" }
/^[A-Z_]+\([A-Z][a-z]/ {
    split($0, part, /[(,]/)
    name = part[2]
    if (!(name in seen))
        print "#define RKC_LOWER_" name " mpi_" tolower(name) "\n#define RKC_UPPER_" name " MPI_" toupper(name)
    seen[name] = 1
}
