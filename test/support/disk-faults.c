/*
 * Preloaded into a daemon (test/support/disk-faults.ts): calls on files fail as the lines of the file that DISK_FAULTS names say,
 * each "<call> <end of the path> <errno>"; "statfs - <blocks>" has the disk say that so many blocks are free.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

static long fault_of(const char *call, const char *path) {
  const char *faults = getenv("DISK_FAULTS");
  FILE *file = faults ? fopen(faults, "re") : NULL;
  if (!file) return 0;
  char named[32], end[256];
  long value, found = 0;
  while (!found && fscanf(file, "%31s %255s %ld", named, end, &value) == 3) {
    size_t length = strlen(path), tail = strlen(end);
    int fits = path[0] == '\0' || (length >= tail && strcmp(path + length - tail, end) == 0);
    if (strcmp(named, call) == 0 && fits) found = value;
  }
  fclose(file);
  return found;
}

static int fails(const char *call, int fd) {
  char link[64], path[4096];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = '\0';
  /* Pipes, sockets and the like are no files. */
  long fault = path[0] == '/' ? fault_of(call, path) : 0;
  errno = fault ? (int)fault : saved;
  return fault != 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) { return fails("sync", fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails("sync", fd) ? -1 : REAL(fdatasync)(fd); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  return fails("write", fd) ? -1 : REAL(pwrite64)(fd, bytes, count, at);
}
ssize_t write(int fd, const void *bytes, size_t count) {
  return fails("write", fd) ? -1 : REAL(write)(fd, bytes, count);
}
int statfs64(const char *path, struct statfs64 *is) {
  int result = REAL(statfs64)(path, is);
  long blocks = fault_of("statfs", "");
  if (blocks) is->f_bavail = blocks;
  return result;
}
