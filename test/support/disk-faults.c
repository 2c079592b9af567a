/*
 * Preloaded into a daemon (test/support/disk-faults.ts): calls on files fail as the lines of the file that DISK_FAULTS names say,
 * each "<call> <end of the path, or * and a part of it> <errno>"; "statfs - <blocks>" has the disk say that so many blocks are free, and "hold <end of the path> 1"
 * has an fsync of it wait as long as that line is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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
    if (end[0] == '*') fits = strstr(path, end + 1) != NULL;
    if (strcmp(named, call) == 0 && fits) found = value;
  }
  fclose(file);
  return found;
}

/* The path of a file that is open; empty for pipes, sockets and the like, which are no files. */
static void path_of(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  path[length < 0 || path[0] != '/' ? 0 : length] = '\0';
}

static int fails(const char *call, int fd) {
  char path[4096];
  int saved = errno;
  path_of(fd, path, sizeof path);
  long fault = path[0] ? fault_of(call, path) : 0;
  errno = fault ? (int)fault : saved;
  return fault != 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void hold(int fd) {
  char path[4096];
  path_of(fd, path, sizeof path);
  while (path[0] && fault_of("hold", path)) usleep(10000);
}

int fsync(int fd) {
  hold(fd);
  return fails("sync", fd) ? -1 : REAL(fsync)(fd);
}
int fdatasync(int fd) {
  hold(fd);
  return fails("sync", fd) ? -1 : REAL(fdatasync)(fd);
}
/* Only what makes a file, or would write to it. */
int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  long fault = flags & O_CREAT ? fault_of("create", path) : 0;
  if (fault) {
    errno = (int)fault;
    return -1;
  }
  return REAL(open64)(path, flags, mode);
}
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
