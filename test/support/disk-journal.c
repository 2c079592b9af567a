/*
 * Preloaded into a daemon (test/support/disk-journal.ts): everything that it does to files below DISK_ROOT is written to the file
 * DISK_JOURNAL, in the order in which the kernel had it. An fsync stands there twice, when it begins and when it has ended well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, MKDIR, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, LINK };

static char root[PATH_MAX];
static size_t root_length;
static int journal = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static uint64_t syncs;

__attribute__((constructor)) static void begin(void) {
  const char *below = getenv("DISK_ROOT"), *to = getenv("DISK_JOURNAL");
  if (!below || !to) return;
  root_length = (size_t)snprintf(root, sizeof root, "%s/", below);
  journal = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The memory that SQLite shares between its connections is made anew after a power cut. */
static int is_ours(const char *path) {
  size_t length = path ? strlen(path) : 0;
  if (!root_length || strncmp(path ? path : "", root, root_length) != 0) return 0;
  return length < 4 || strcmp(path + length - 4, "-shm") != 0;
}

/* The path of a file or folder of ours that is open, or NULL. A folder is asked for by itself, so the root counts, too. */
static const char *path_of(int fd, char *path) {
  char link[64];
  if (!root_length) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlink, link, path, PATH_MAX - 1);
  if (length <= 0) return NULL;
  path[length] = '\0';
  int is_root = (size_t)length == root_length - 1 && strncmp(path, root, root_length - 1) == 0;
  return is_root || is_ours(path) ? path : NULL;
}

static void note(uint32_t what, const char *path, uint64_t at, const void *bytes, size_t count) {
  struct { uint32_t what, path_length; uint64_t at, count; } head = {what, (uint32_t)strlen(path), at, count};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path_length}, {(void *)bytes, count}};
  size_t all = sizeof head + head.path_length + count;
  if (syscall(SYS_writev, journal, parts, bytes ? 3 : 2) != (long)(bytes ? all : all - count)) abort();
}

#define ORDERED(call)                 \
  pthread_mutex_lock(&order);         \
  call;                               \
  int saved = errno;                  \
  pthread_mutex_unlock(&order);       \
  errno = saved

static int opened(int folder, const char *path, int flags, mode_t mode) {
  if (!is_ours(path) || !(flags & (O_CREAT | O_TRUNC))) return (int)syscall(SYS_openat, folder, path, flags, mode);
  int fd;
  ORDERED({
    int was_there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
    fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && !was_there) note(CREATE, path, 0, NULL, 0);
    else if (fd >= 0 && (flags & O_TRUNC)) note(TRUNCATE, path, 0, NULL, 0);
  });
  return fd;
}

#define MODE                              \
  mode_t mode = 0;                        \
  if (flags & (O_CREAT | O_TMPFILE)) {    \
    va_list rest;                         \
    va_start(rest, flags);                \
    mode = va_arg(rest, mode_t);          \
    va_end(rest);                         \
  }

int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return opened(folder, path, flags, mode); }

/* `at` below 0: where the file stands, or at its end when it is for appending. */
static ssize_t written(int fd, const struct iovec *parts, int count, off64_t at) {
  char buffer[PATH_MAX];
  const char *path = path_of(fd, buffer);
  ssize_t done;
  if (!path) {
    return at < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, at, 0);
  }
  ORDERED({
    done = at < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, at, 0);
    off64_t from = at < 0 ? lseek64(fd, 0, SEEK_CUR) - done : at;
    size_t left = done < 0 ? 0 : (size_t)done;
    for (int i = 0; i < count && left > 0; i++) {
      size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
      note(WRITE, path, (uint64_t)from, parts[i].iov_base, length);
      from += (off64_t)length;
      left -= length;
    }
  });
  return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { return written(fd, &(struct iovec){(void *)bytes, count}, 1, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return written(fd, &(struct iovec){(void *)bytes, count}, 1, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { return written(fd, &(struct iovec){(void *)bytes, count}, 1, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return written(fd, parts, count, -1); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return written(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return written(fd, parts, count, at); }

static int truncated(int fd, off64_t length) {
  char buffer[PATH_MAX];
  const char *path = path_of(fd, buffer);
  int result;
  ORDERED({
    result = (int)syscall(SYS_ftruncate, fd, length);
    if (result == 0 && path) note(TRUNCATE, path, (uint64_t)length, NULL, 0);
  });
  return result;
}
int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, length); }

static int synced(int fd, long call) {
  char buffer[PATH_MAX];
  const char *path = path_of(fd, buffer);
  if (!path) return (int)syscall(call, fd);
  uint64_t token;
  { ORDERED(token = (uint64_t)getpid() << 32 | ++syncs; note(SYNC_BEGIN, path, token, NULL, 0)); }
  int result = (int)syscall(call, fd);
  if (result == 0) { ORDERED(note(SYNC_END, path, token, NULL, 0)); }
  return result;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int rename(const char *from, const char *to) {
  int result;
  ORDERED({
    result = (int)syscall(SYS_rename, from, to);
    if (result == 0 && (is_ours(from) || is_ours(to))) note(RENAME, from, 0, to, strlen(to));
  });
  return result;
}

int link(const char *from, const char *to) {
  int result;
  ORDERED({
    result = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0 && is_ours(to)) note(LINK, from, 0, to, strlen(to));
  });
  return result;
}

static int removed(const char *path, int flags) {
  int result;
  ORDERED({
    result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, flags);
    if (result == 0 && is_ours(path)) note(UNLINK, path, 0, NULL, 0);
  });
  return result;
}
int unlink(const char *path) { return removed(path, 0); }
int rmdir(const char *path) { return removed(path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
  int result;
  ORDERED({
    result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (result == 0 && is_ours(path)) note(MKDIR, path, 0, NULL, 0);
  });
  return result;
}
