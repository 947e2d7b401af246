/* Records the operations of a process on the files below one directory, in order. Preloaded into the process, it wraps
 * the C library's calls. The record shows what a power cut at any point might have left.
 *
 * RECORDER_DIRECTORY is the directory, RECORDER_FILE the record. Entries follow each other without padding, in the machine's
 * byte order: kind (4 bytes), argument (8), length of the path (4), length of the data (4), path, data.
 *
 *   kind         argument                                     path                 data
 *   1 write      offset in the file                           file                 the written data
 *   2 length     new length of the file                       file                 -
 *   3 sync       entries at the start of the sync             file or directory    -
 *   4 create     -                                            file                 -
 *   5 rename     -                                            old name             new name
 *   6 remove     -                                            file                 -
 *   7 directory  -                                            directory            -
 *   8 said       -                                            -                    text written to standard output
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
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

enum { WRITE = 1, LENGTH, SYNC, CREATE, RENAME, REMOVE, DIRECTORY, SAID };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static uint64_t entries;
static char root[4096];
static size_t root_length;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("RECORDER_DIRECTORY"), *file = getenv("RECORDER_FILE");
    if (!directory || !file) return;
    snprintf(root, sizeof root, "%s", directory);
    root_length = strlen(root);
    record = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void stop(const char *why) {
    fprintf(stderr, "recorder: %s\n", why);
    abort();
}

/* Call it with the lock held. */
static void note(uint32_t kind, uint64_t argument, const char *path, const void *data, size_t length) {
    uint32_t lengths[2] = {(uint32_t)strlen(path), (uint32_t)length};
    struct iovec parts[5] = {{&kind, 4}, {&argument, 8}, {lengths, 8}, {(void *)path, lengths[0]}, {(void *)data, length}};
    ssize_t all = 20 + (ssize_t)lengths[0] + (ssize_t)length;
    if (syscall(SYS_writev, record, parts, 5) != all) stop("the record cannot be written");
    entries++;
}

static int is_below(const char *path) {
    return record >= 0 && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || !path[root_length]);
}

/* The name of an open file below the directory. */
static int name_of(int fd, char *path, size_t size) {
    char link[64];
    if (record < 0 || fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int opened(int fd, const char *path, int flags, int was_there) {
    if (fd >= 0 && is_below(path)) {
        if ((flags & O_CREAT) && !was_there) note(CREATE, 0, path, "", 0);
        if ((flags & O_TRUNC) && was_there) note(LENGTH, 0, path, "", 0);
    }
    return fd;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if (!is_below(path)) return next(path, flags, mode); \
        pthread_mutex_lock(&lock); \
        int was_there = access(path, F_OK) == 0; \
        int fd = opened(next(path, flags, mode), path, flags, was_there); \
        pthread_mutex_unlock(&lock); \
        return fd; \
    }
OPEN(open)
OPEN(open64)

static ssize_t wrote(int fd, const char *path, off_t at, const void *data, ssize_t length) {
    (void)fd;
    if (length > 0) note(WRITE, (uint64_t)at, path, data, (size_t)length);
    return length;
}

ssize_t write(int fd, const void *data, size_t length) {
    NEXT(write);
    char path[4096];
    int ours = name_of(fd, path, sizeof path);
    if (!ours && (fd != 1 || record < 0)) return next(fd, data, length);
    pthread_mutex_lock(&lock);
    off_t at = ours ? lseek(fd, 0, SEEK_CUR) : 0;
    /* Record output before writing it: the reader may rely on it. */
    if (!ours) note(SAID, 0, "", data, length);
    ssize_t done = next(fd, data, length);
    if (ours) wrote(fd, path, at, data, done);
    pthread_mutex_unlock(&lock);
    return done;
}

#define PWRITE(name, offset) \
    ssize_t name(int fd, const void *data, size_t length, offset at) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path)) return next(fd, data, length, at); \
        pthread_mutex_lock(&lock); \
        ssize_t done = wrote(fd, path, at, data, next(fd, data, length, at)); \
        pthread_mutex_unlock(&lock); \
        return done; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, offset) \
    int name(int fd, offset length) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path)) return next(fd, length); \
        pthread_mutex_lock(&lock); \
        int outcome = next(fd, length); \
        if (outcome == 0) note(LENGTH, (uint64_t)length, path, "", 0); \
        pthread_mutex_unlock(&lock); \
        return outcome; \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNCING(name) \
    int name(int fd) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path)) return next(fd); \
        pthread_mutex_lock(&lock); \
        uint64_t before = entries; \
        pthread_mutex_unlock(&lock); \
        int outcome = next(fd); \
        if (outcome == 0) { \
            pthread_mutex_lock(&lock); \
            note(SYNC, before, path, "", 0); \
            pthread_mutex_unlock(&lock); \
        } \
        return outcome; \
    }
SYNCING(fsync)
SYNCING(fdatasync)

int rename(const char *from, const char *to) {
    NEXT(rename);
    if (!is_below(from)) return next(from, to);
    pthread_mutex_lock(&lock);
    int outcome = next(from, to);
    if (outcome == 0) note(RENAME, 0, from, to, strlen(to));
    pthread_mutex_unlock(&lock);
    return outcome;
}

int unlink(const char *path) {
    NEXT(unlink);
    if (!is_below(path)) return next(path);
    pthread_mutex_lock(&lock);
    int outcome = next(path);
    if (outcome == 0) note(REMOVE, 0, path, "", 0);
    pthread_mutex_unlock(&lock);
    return outcome;
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    if (!is_below(path)) return next(path, mode);
    pthread_mutex_lock(&lock);
    int outcome = next(path, mode);
    if (outcome == 0) note(DIRECTORY, 0, path, "", 0);
    pthread_mutex_unlock(&lock);
    return outcome;
}

/* Calls that would bypass the record. The program does not make them; if it starts to, record them too. */
int openat(int fd, const char *path, int flags, ...) {
    NEXT(openat);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if ((flags & (O_CREAT | O_TRUNC)) && is_below(path)) stop("openat is not recorded");
    return next(fd, path, flags, mode);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    char path[4096];
    if (name_of(fd, path, sizeof path)) stop("writev is not recorded");
    return next(fd, parts, count);
}

