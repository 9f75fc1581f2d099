"""Scripts and sources that programs of the corpus run."""

PYTHON_MODULES = """
import json, os, re, sqlite3, subprocess, tempfile
data = {"squares": [i * i for i in range(100)], "text": "\\u00e4\\n" * 100}
assert json.loads(json.dumps(data)) == data
words = re.findall(r"\\b(\\w+)=(\\d+)", " ".join(f"k{i}={i}" for i in range(500)))
assert len(words) == 500
with sqlite3.connect("some.db") as db:
    db.execute("create table t (k text, v integer)")
    db.executemany("insert into t values (?, ?)", words)
    print("total", db.execute("select sum(v) from t").fetchone()[0])
shell = ["/bin/sh", "-c", "echo from a shell | tr a-z A-Z"]
said = subprocess.run(shell, capture_output=True, text=True)
print(said.stdout.strip(), said.returncode)
child = os.fork()
if child == 0:
    os._exit(7)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with tempfile.TemporaryFile() as f:
    f.write(b"x" * 100000)
    print("at", f.tell())
print("sum of squares", sum(data["squares"]))
"""

PERL = r"""
use strict; use warnings;
my %count;
my $text = "the quick brown fox jumps over the lazy dog\n" x 20;
$count{$_}++ for $text =~ /(\w+)/g;
printf "%s %d\n", $_, $count{$_} for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
open(my $out, '>', 'lines') or die; print $out "$_\n" for map { $_ * $_ } 1 .. 1000; close $out;
open(my $in, '-|', 'wc', '-l', 'lines') or die; print <$in>; close $in;
eval { die { code => 42 } }; print "died with $@->{code}\n";
local $SIG{ALRM} = sub { print "alarm\n" }; kill 'ALRM', $$;
"""

BASH_PIPES = r"""
set -e -o pipefail
echo lines $(seq 1000 | grep -v '[02468]$' | wc -l)
for i in 1 2 3; do echo $i; done | while read -r n; do echo "got $((n * n))"; done | tac
diff <(seq 3) <(seq 4) || echo differs
wait_for() { (exit "$1") & wait $! || echo "child said $?"; }
wait_for 5
trap 'echo trapped' USR1; kill -USR1 $BASHPID
declare -A m=([a]=1 [b]=2); echo "${m[a]}${m[b]}"
cat <<< "here $(( 2 ** 40 ))"
"""

AWK = '{ n[substr($2, index($2, "/") + 1)]++ } END { for (p in n) print p, n[p] | "sort" }'

SQL = """
create table t (k integer primary key, v text, r real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 100000)
insert into t select i, printf('%064x', (i * 7919) % 100003), i / 3.0 from c;
create index by_v on t(v);
select count(*), min(v), round(sum(r), 2) from t;
update t set r = r + 1 where k % 10 = 0;
delete from t where k % 97 = 0;
select count(*), round(avg(r), 3) from t where v > 'a' or k < 1000;
"""

C_PROGRAM = """
#include <stdio.h>
#include <math.h>
static int answer(int n) { return n * 6; }
int main(void) { printf("hello %d %.3f\\n", answer(7), sqrt(2)); return 0; }
"""

FORK = """
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t children;
static void on_child(int sig) { children += sig == SIGCHLD; }
int main(void) {
  int status;
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child, .sa_flags = SA_RESTART}, NULL);
  if (fork() == 0) {
    puts("child");
    return 3;
  }
  wait(&status);
  printf("child exited %d, heard of %d\\n", WEXITSTATUS(status), (int)children);
}
"""

MAKEFILE = """
PARTS := a b c
all: all.txt
all.txt: $(PARTS:%=%.txt)
\tcat $^ > $@
%.txt:
\techo made $* | tr x y > $@
"""

FORTRAN = """
program table
  implicit none
  integer :: i, unit, n
  real(8) :: x, total
  open(newunit=unit, file='table.txt', status='replace', action='write')
  do i = 1, 1000
    write(unit, '(i6, f12.6)') i, sin(real(i, 8))
  end do
  close(unit)
  total = 0
  open(newunit=unit, file='table.txt', status='old', action='read')
  do i = 1, 1000
    read(unit, *) n, x
    total = total + x
  end do
  close(unit)
  open(newunit=unit, file='raw.bin', form='unformatted', access='stream')
  write(unit) total
  rewind(unit)
  read(unit) x
  close(unit)
  print '(a, f12.6, l2)', 'sum', total, x == total
end program
"""

CXX = r"""
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
int main() {
  std::map<std::string, double> values;
  {
    std::ofstream out("table.txt");
    for (int i = 0; i < 2000; i++) out << "k" << i % 50 << ' ' << i / 7.0 << std::endl;
  }
  std::ifstream in("table.txt");
  std::string key, line;
  while (std::getline(in, line)) {
    double v;
    std::istringstream(line) >> key >> v;
    values[key] += v;
  }
  for (auto &[k, v] : values) std::cout << k << '=' << v << '\n';
  try {
    values.at("none");
  } catch (const std::out_of_range &e) {
    std::cerr << "caught " << e.what() << '\n';
  }
  std::cout << "caught" << std::endl;
}
"""

PYTHON_THREADS = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool: print(list(pool.map(lambda i: i * i, range(4))))
"""

NUMPY = """
import numpy
a = numpy.ones((300, 300)); print("shape", (a @ a).shape)
"""

OPENMP = r"""
#include <omp.h>
#include <stdio.h>
static double a[2][1 << 16];
int main(void) {
  int seen = 0;
  omp_set_num_threads(2);
  a[0][0] = 1;
  for (int t = 0; t < 50; t++) {
#pragma omp parallel for reduction(max : seen)
    for (int i = 1; i < (1 << 16) - 1; i++) {
      a[(t + 1) & 1][i] = (a[t & 1][i - 1] + a[t & 1][i] + a[t & 1][i + 1]) / 3;
      seen = omp_get_num_threads();
    }
  }
  printf("threads %d\n", seen);
}
"""
