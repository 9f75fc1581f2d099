/* Given values, sorted and spoilt between the same two events: no event sees the values that are
   right.  Each expression of tests/timeline/test_first_interval.py turns false at the line that names it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MANY 6

int keys[MANY];
volatile int rank_of_five;

__attribute__((noinline)) static int sort(int seed) {
  volatile int a[MANY];
  for (int i = 0; i < MANY; i++) a[i] = 0;
  for (int i = 0; i < MANY; i++) a[i] = (i * 7 + seed) % 10;
  for (int i = 0; i < MANY; i++) {
    for (int j = 0; j + 1 < MANY - i; j++) {
      if (a[j] > a[j + 1]) {
        int kept = a[j];
        a[j] = a[j + 1];
        a[j + 1] = kept;
      }
    }
  }
  for (int i = 0; i < MANY; i++) keys[i] = a[i] + 1;
  rank_of_five = keys[4];
  a[2] = a[MANY - 1] + 1; /* @local */
  keys[4] = -rank_of_five; /* @global */
  getppid();
  return a[0] + a[2];
}

__attribute__((noinline)) static int fill(void) {
  volatile int *cells = malloc(2 * sizeof *cells); /* @given */
  cells[0] = 7;
  cells[1] = 5;
  getppid();
  int sum = cells[0] + cells[1];
  free((void *)cells);
  return sum;
}

int main(void) {
  getppid();
  int sum = sort(1);
  getppid();
  sum += fill();
  getppid();
  printf("%d\n", sum);
  return 0;
}
