/*
 * Preloaded into a daemon (test/support/clock-step.ts): the wall clock shows so many seconds more as the first eight bytes of the file
 * that CLOCK_STEP names say. The time that only goes forward is the system's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t *shown;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_STEP");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shown, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) shown = mapped;
}

static int64_t step(void) { return shown ? *shown : 0; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *now) {
  static __typeof__(&clock_gettime) real;
  if (!real) real = REAL(clock_gettime);
  int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += step();
  return result;
}
int gettimeofday(struct timeval *now, void *zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(now, zone);
  if (result == 0) now->tv_sec += step();
  return result;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
