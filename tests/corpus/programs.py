"""The table of programs.  Texts that they run are in texts.py."""

from __future__ import annotations

import sys

from corpus import texts
from corpus.entry import Entry

PYTHON = "/usr/bin/python3"
PYTHON_TESTS = f"python3 libpython3.{sys.version_info.minor}-testsuite"


def words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


INTERPRETERS = (
    # How long they took is printed.
    *(
        Entry(
            f"python3-test-{name}",
            PYTHON_TESTS,
            (PYTHON, "-m", "test", *left_out, f"test_{name}"),
            prints="Tests result: SUCCESS",
            events=1000,
            processes=processes,
            hash_every=2000,
            repeatable=False,
        )
        for name, processes, left_out in (
            ("json", 10, ()),
            ("threading", 50, ()),
            # Others change the user, kill what has hardly started, make a thousand processes.
            (
                "subprocess",
                20,
                (
                    "-m",
                    "*test_communicate*",
                    "-m",
                    "*RunFunc*",
                    "-m",
                    "*getoutput*",
                    "-i",
                    "*timeout*",
                ),
            ),
        )
    ),
    Entry(
        "python3-modules",
        "python3",
        (PYTHON, "modules.py"),
        files={"modules.py": texts.PYTHON_MODULES},
        prints="sum of squares 328350",
        events=500,
        processes=3,
        hash_every=200,
        sample=True,
    ),
    Entry(
        "perl",
        "perl",
        ("perl", "words.pl"),
        files={"words.pl": texts.PERL},
        prints="the 40",
        sample=True,
    ),
    Entry(
        "bash-pipelines",
        "bash",
        ("bash", "pipes.sh"),
        files={"pipes.sh": texts.BASH_PIPES},
        prints="lines 500",
        processes=8,
        sample=True,
    ),
    Entry(
        "dash-exec",
        "dash",
        ("dash", "-c", 'x=$(echo a | tr a b); echo "$x $$" > pid; exec sh -c "echo $x; exit 3"'),
        code=3,
        prints="b\n",
        processes=4,
        sample=True,
    ),
    Entry(
        "lua",
        "lua5.4",
        ("lua5.4", "program.lua"),
        files={"program.lua": texts.LUA},
        prints="from lua",
        processes=3,
    ),
    Entry(
        "tcl",
        "tcl",
        ("tclsh", "program.tcl"),
        files={"program.tcl": texts.TCL},
        prints="2584",
        processes=3,
    ),
    Entry("gawk", "gawk", ("gawk", texts.AWK, "/etc/services"), prints="tcp"),
    Entry(
        "sed", "sed", ("sed", "-E", "s/(root|bin)/<\\1>/g; $!N; P; D", "/etc/passwd"), sample=True
    ),
    Entry(
        "bc",
        "bc",
        ("bc", "-lq", "pi.bc"),
        files={"pi.bc": "scale=300\n4*a(1)\ne(1)\nquit\n"},
        prints="3.14159265358979",
        events=10,
    ),
    Entry(
        "jq",
        "jq",
        ("jq", "-c", "[.[] | select(.n % 2 == 1) | .n * .n] | add", "n.json"),
        files={"n.json": "[" + ",".join(f'{{"n":{i}}}' for i in range(2000)) + "]"},
        prints="1333333000",
    ),
)

FILES = (
    Entry(
        "sort",
        "coreutils",
        ("sort", "--parallel=1", "-S", "1M", "-k2n", "-o", "out", "in"),
        before="seq 200000 | awk '{print $1, ($1 * 7919) % 200003}' > in",
        after="sha256sum out",
        sample=True,
        hash_every=200,
    ),
    # Ends by a POSIX timer's signal.
    Entry("timeout", "coreutils", ("timeout", "0.1", "tail", "-f", "in"), 124, before="seq 9 > in"),
    Entry("ps", "procps", ("ps", "-p", "1", "-o", "pid,uid"), prints="PID"),
    Entry(
        "xargs-P",
        "findutils",
        ("xargs", "-P2", "-n9", "-a", "in", "true"),
        processes=9,
        before="seq 40 > in",
    ),
    Entry(
        "tar",
        "tar",
        ("tar", "-cf", "out.tar", "--sort=name", "-C", "/usr/share/doc", "bash", "dash", "tar"),
        after="tar -tf out.tar; mkdir x; tar -C x -xf out.tar; diff -r x/tar /usr/share/doc/tar",
        prints="tar/copyright",
    ),
    Entry(
        "tar-gzip",
        "tar gzip",
        ("tar", "-czf", "out.tgz", "-C", "/usr/share/doc", "bash", "dash", "tar"),
        after="gzip -t out.tgz; tar -tzf out.tgz | wc -l",
        processes=3,
    ),
    Entry(
        "find-exec",
        "findutils",
        (
            "find",
            "/etc",
            "-maxdepth",
            "1",
            "-name",
            "p*",
            "-type",
            "f",
            "-exec",
            "wc",
            "-c",
            "{}",
            ";",
        ),
        prints="/etc/passwd",
        processes=4,
        sample=True,
    ),
    *(
        Entry(
            name,
            package,
            (*command.split(), "in"),
            before="seq 300000 > in",
            after=f"{command.split()[0]} -dc in.{suffix} | sha256sum",
            sample=name == "gzip",
        )
        for name, package, command, suffix in (
            ("gzip", "gzip", "gzip -k", "gz"),
            ("bzip2", "bzip2", "bzip2 -k", "bz2"),
            ("xz", "xz-utils", "xz -k -T1 -3", "xz"),
            ("zstd", "zstd", "zstd -q -k --single-thread --no-asyncio", "zst"),
        )
    ),
    Entry(
        "openssl-dgst",
        "openssl",
        ("openssl", "dgst", "-sha3-256", "in"),
        before="seq 300000 > in",
        prints="SHA3-256(in)= ",
    ),
    Entry(
        "busybox-static",
        "busybox-static",
        (
            "busybox",
            "sh",
            "-c",
            "seq 1000 | busybox sort -rn | busybox head -3; busybox md5sum /etc/passwd",
        ),
        prints="1000\n999\n998\n",
        processes=4,
    ),
    Entry(
        "sqlite3",
        "sqlite3",
        ("sqlite3", "some.db", ".read make.sql"),
        files={"make.sql": texts.SQL},
        after='sqlite3 some.db "pragma integrity_check"; test $(stat -c %s some.db) -gt 8000000',
        prints="100000|",
        events=2000,
        hash_every=1000,
    ),
    Entry(
        "sqlite3-100-MB",
        "sqlite3",
        ("sqlite3", "some.db", ".read make.sql"),
        files={"make.sql": texts.LARGE_SQL},
        after="test $(stat -c %s some.db) -gt 100000000; rm some.db",
        prints="25000|100000000",
        events=100000,
        hash_every=20000,
    ),
    # Ended by alarms inside of the computation.
    Entry(
        "openssl-speed",
        "openssl",
        words("openssl speed -seconds 1 -bytes 16384 -evp sha256"),
        prints="sha256",
        repeatable=False,
    ),
    # Round after round with the same registers, and few that count them.
    Entry(
        "openssl-speed-small",
        "openssl",
        words("openssl speed -seconds 1 -bytes 16 sha256"),
        prints="sha256",
        repeatable=False,
    ),
    Entry("ssh-keygen", "openssh-client", (*words("ssh-keygen -q -t rsa -f key -N"), "")),
    Entry("curl", "curl", ("curl", "-s", "file:///etc/passwd"), prints="root:"),
    Entry(
        "rsync",
        "rsync",
        ("rsync", "-a", "/usr/share/doc/bash", "copy/"),
        after="diff -r /usr/share/doc/bash copy/bash",
        processes=3,
    ),
    Entry(
        "vim",
        "vim-tiny",
        words("vi -u NONE -es -c %s/1/2/g -c w!out -c q in"),
        before="seq 999 > in",
        after="sha256sum out",
    ),
    Entry(
        "imagemagick",
        "imagemagick",
        (
            "convert",
            "-limit",
            "thread",
            "1",
            "-size",
            "200x100",
            "plasma:red-blue",
            "-seed",
            "4",
            "x.png",
        ),
        after="file x.png",
        tools=("file",),
        prints="PNG image data, 200 x 100",
    ),
)

GIT = "git -c user.name=A -c user.email=a@example.org -c init.defaultBranch=main -c gc.auto=0"
GIT_REPOSITORY = f"""export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
{GIT} init -q origin; cd origin
for i in $(seq 10); do seq $i 200 > file$i; {GIT} add .; {GIT} commit -qm "commit $i"; done"""

DEVELOPMENT = (
    Entry(
        "git-clone",
        "git",
        ("git", "clone", "-q", "--no-hardlinks", "origin", "copy"),
        before=GIT_REPOSITORY,
        after="git -C copy fsck --full; git -C copy log --format=%s",
        prints="commit 10",
        tools=("git",),
    ),
    Entry(
        "git-log",
        "git",
        ("git", "-C", "origin", "log", "--stat", "-p"),
        before=GIT_REPOSITORY,
        prints="commit 10",
    ),
    Entry(
        "gcc",
        "gcc libc6-dev",
        ("gcc", "-O2", "-g", "-o", "hello", "hello.c"),
        files={"hello.c": texts.C_PROGRAM},
        after="./hello",
        prints="hello 42",
        processes=5,
        events=300,
    ),
    Entry(
        "g++-O2",
        "g++",
        ("g++", "-O2", "-o", "program", "program.cc"),
        files={"program.cc": texts.CXX},
        after="./program | tail -1",
        prints="caught",
        processes=5,
        events=1000,
        hash_every=1000,
    ),
    Entry(
        "gdb",
        "gdb gcc",
        ("gdb", "-nx", "-q", "-batch", "-ex", "info line main", "./program"),
        files={"program.c": texts.C_PROGRAM},
        before="gcc -g -o program program.c -lm",
        tools=("gcc",),
        prints="program.c",
        events=1000,
        hash_every=500,
    ),
    # Its own rdtsc, found in libc's start-up code, makes rdtsc fault in the child too.
    Entry(
        "fork-static-pie",
        "gcc libc6-dev",
        ("./program",),
        files={"program.c": texts.FORK},
        before="gcc -g -static-pie -o program program.c",
        tools=("gcc",),
        prints="child exited 3",
        events=10,
        processes=2,
        hash_every=1,
        sample=True,
    ),
    Entry(
        "make",
        "make",
        ("make", "-j2", "--no-print-directory", "all"),
        files={"Makefile": texts.MAKEFILE},
        after="cat all.txt",
        prints="made a",
        repeatable=False,
        processes=5,
    ),
    Entry(
        "gfortran",
        "gfortran",
        ("./program",),
        files={"program.f90": texts.FORTRAN},
        before="gfortran -g -O1 -o program program.f90",
        after="cat table.txt",
        tools=("gfortran",),
        prints="sum",
    ),
    Entry(
        "g++-streams",
        "g++",
        ("./program",),
        files={"program.cc": texts.CXX},
        before="g++ -g -O1 -o program program.cc",
        after="cat table.txt",
        tools=("g++",),
        prints="caught",
    ),
)

THREADS = (
    *(
        Entry(
            f"{name}-threads",
            package,
            (*command.split(), "in"),
            before="seq 300000 > in",
            after=f"{test} < in.{suffix} | sha256sum",
            sample=name == "xz",
        )
        for name, package, command, test, suffix in (
            ("xz", "xz-utils", "xz -T2 -0 --block-size=256KiB -k", "xz -dc", "xz"),
            ("zstd", "zstd", "zstd -q -T2 -k", "zstd -dc", "zst"),
            ("pigz", "pigz", "pigz -p2 -k", "pigz -dc", "gz"),
        )
    ),
    Entry(
        "sort-parallel",
        "coreutils",
        ("sort", "--parallel=2", "-S", "8M", "-k2n", "-o", "out", "in"),
        before="seq 200000 | awk '{print $1, ($1 * 7919) % 200003}' > in",
        after="sha256sum out",
    ),
    Entry(
        "node",
        "nodejs",
        ("node", "-e", texts.NODE),
        prints="worker 42",
        processes=3,
        events=1000,
        hash_every=1000,
    ),
    Entry(
        "python3-threading",
        "python3",
        (PYTHON, "-c", texts.PYTHON_THREADS),
        prints="[0, 1, 4, 9]",
        sample=True,
    ),
    Entry(
        "numpy-openblas",
        "python3-numpy libopenblas0-pthread",
        ("env", "OPENBLAS_NUM_THREADS=2", PYTHON, "-c", texts.NUMPY),
        prints="shape (300, 300)",
        hash_every=500,
    ),
    Entry(
        "openmp-stencil",
        "gcc libc6-dev",
        ("./program",),
        files={"program.c": texts.OPENMP},
        before="gcc -g -O2 -fopenmp -o program program.c",
        tools=("gcc",),
        prints="threads 2",
        sample=True,
    ),
    Entry(
        "openmp-fortran",
        "gfortran",
        ("./program",),
        files={"program.f90": texts.FORTRAN_OPENMP},
        before="gfortran -g -O1 -fopenmp -o program program.f90",
        after="cat part*.txt | sort",
        tools=("gfortran",),
        prints="21082008.97",
    ),
    # Its libraries make threads before its entry point.
    Entry(
        "ffmpeg",
        "ffmpeg",
        words("ffmpeg -v error -f lavfi -i testsrc=size=160x120:rate=10 -t 1 -threads 2 x.mp4"),
        after="stat -c %s x.mp4",
        events=1000,
        hash_every=2000,
        repeatable=False,
    ),
    Entry(
        "imagemagick-threads",
        "imagemagick",
        words("convert -limit thread 2 -size 200x100 gradient:red-blue -blur 0x3 x.png"),
        tools=("file",),
        after="file x.png",
        prints="PNG image data, 200 x 100",
    ),
    Entry(
        "ruby",
        "ruby",
        ("ruby", "program.rb"),
        files={"program.rb": texts.RUBY},
        prints="from ruby",
        processes=4,
        hash_every=200,
    ),
    *(
        Entry(
            f"go{kind}",
            "gccgo",
            ("./program",),
            files={"program.go": texts.GO},
            before=f"gccgo -g -O1 {kind} -o program program.go",
            tools=("gccgo",),
            prints="from go",
            processes=3,
        )
        for kind in ("", "-static")
    ),
    Entry(
        "java",
        "openjdk-17-jdk-headless",
        ("java", "-cp", ".", "Hello"),
        files={
            "Hello.java": "public class Hello { public static void main(String[] a) "
            '{ System.out.println("from Java"); } }\n'
        },
        before="javac Hello.java",
        tools=("javac",),
        prints="from Java",
        events=1000,
        hash_every=500,
    ),
    *(
        Entry(
            f"java{option}-threads",
            "openjdk-17-jdk-headless",
            ("java", option, "-cp", ".", "Big"),
            files={"Big.java": texts.JAVA},
            before="javac Big.java",
            tools=("javac",),
            prints="40 961335994320",
            events=5000,
            hash_every=2000,
        )
        for option in ("-Xint", "-Xmixed")
    ),
    Entry(
        "luajit",
        "luajit",
        ("luajit", "sums.lua"),
        files={"sums.lua": texts.LUAJIT},
        prints="19543",
    ),
    *(
        Entry(
            f"qemu-{threads}",
            "qemu-system-x86",
            (
                *("qemu-system-x86_64", "-accel", f"tcg,thread={threads}", "-display", "none"),
                *("-serial", "stdio", "-drive", "format=raw,file=boot.img", "-no-reboot"),
            ),
            files={"boot.S": texts.BOOT},
            before="gcc -c -m32 boot.S && objcopy -O binary boot.o boot.img",
            prints="from the boot sector",
            events=300,
            hash_every=500,
        )
        for threads in ("single", "multi")
    ),
    Entry(
        "redis",
        "redis-tools",
        ("bash", "redis.sh"),
        files={"redis.sh": texts.REDIS},
        tools=("redis-check-rdb",),
        prints="tests 3",
        events=5000,
        processes=5,
        hash_every=2000,
    ),
)

PROGRAMS = (*INTERPRETERS, *FILES, *DEVELOPMENT, *THREADS)
