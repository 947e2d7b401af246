/* A fault injector, preloaded into a process. It wraps the C library's calls on files below a directory, counts those to which
 * its fault ("deed") applies, and injects the fault at a chosen call.
 *
 * INTRUDER_DIRECTORY  the directory
 * INTRUDER_AT         the number of the call, from 1; 0 for none
 * INTRUDER_LASTING    if set, every call from that one on fails
 * INTRUDER_COLD       if set, nothing stays in the cache
 * INTRUDER_LOG        a file that gets a line for each counted call, and one for the fault
 * INTRUDER_DEED       the fault:
 *
 *   die-before   the process is killed instead of the call      every call but reads, which change nothing
 *   die-after    the process is killed after the call           the same
 *   die-half     the process is killed after half of a write    writes
 *   EIO          the call fails                                 every call
 *   ENOSPC       the call fails                                 writes; creating or extending files and names
 *   EMFILE       the call fails                                 opening
 *   EINTR        the call fails                                 reads of data, writes and syncs
 *   short        half of the data is read or written            reads of data, and writes
 *   hang         the call never returns                         syncs and writes; creating, moving or removing names
 *
 * Reads are reads of data and of directories. Parts of sled's log that the process has read or written are in the system's cache:
 * reading them again is no disk access and is not counted, unless INTRUDER_COLD is set. File lengths and locks are not counted. A
 * call that the program does not make today, and that the injector would miss, aborts the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITES = 1, SYNCS = 2, OPENS = 4, MAKES = 8, NAMES = 16, READS = 32 };

static const struct deed {
    const char *name;
    int kinds, error;
} deeds[] = {
    {"die-before", ~READS, 0},
    {"die-after", ~READS, 0},
    {"die-half", WRITES, 0},
    {"EIO", ~0, EIO},
    {"ENOSPC", WRITES | MAKES, ENOSPC},
    {"EMFILE", OPENS, EMFILE},
    {"EINTR", READS | WRITES | SYNCS, EINTR},
    {"short", READS | WRITES, 0},
    {"hang", SYNCS | WRITES | NAMES, 0},
};

static const struct deed *deed;
static long at;
static int lasting, cold, logs = -1;
static atomic_long calls;
static char root[4096];
static size_t root_length;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("INTRUDER_DIRECTORY"), *number = getenv("INTRUDER_AT");
    const char *name = getenv("INTRUDER_DEED"), *file = getenv("INTRUDER_LOG");
    if (!directory || !number || !name) return;
    snprintf(root, sizeof root, "%s", directory);
    root_length = strlen(root);
    at = atol(number);
    lasting = getenv("INTRUDER_LASTING") != NULL;
    cold = getenv("INTRUDER_COLD") != NULL;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (strcmp(deeds[i].name, name) == 0) deed = &deeds[i];
    if (!deed) {
        fprintf(stderr, "intruder: unknown fault %s\n", name);
        abort();
    }
    if (file) logs = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_below(const char *path) {
    return deed && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || !path[root_length]);
}

static int name_of(int fd, char *path, size_t size) {
    char link[64];
    if (!deed || fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static void note(const char *call, const char *path, const char *what) {
    char line[4200];
    int length = snprintf(line, sizeof line, "%s %s%s\n", call, path + root_length, what);
    if (logs >= 0) (void)!syscall(SYS_write, logs, line, (size_t)length);
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

static int is(const char *name) { return strcmp(deed->name, name) == 0; }

/* Is it this call's turn? Faults that replace the call happen here; the caller does the others. */
static int turn(int kinds, const char *call, const char *path) {
    int saved = errno;
    if (!(deed->kinds & kinds)) return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    int mine = at > 0 && (number == at || (lasting && number > at));
    note(call, path, mine ? " DEED" : "");
    if (mine && is("die-before")) die();
    if (mine && is("hang"))
        for (;;) pause();
    errno = mine && deed->error ? deed->error : saved;
    return mine;
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A call that returns an int: it fails, or the process dies after it. */
#define INT(kinds, call, path, action) \
    do { \
        int mine = turn(kinds, call, path); \
        if (mine && deed->error) return -1; \
        int outcome = action; \
        if (mine && is("die-after")) die(); \
        return outcome; \
    } while (0)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if (!is_below(path)) return next(path, flags, mode); \
        INT(OPENS | ((flags & O_CREAT) ? MAKES : 0), "open", path, next(path, flags, mode)); \
    }
OPEN(open)
OPEN(open64)

/* The blocks of sled's log that are in the cache. The log is far shorter than this here. */
enum { BLOCK = 4096, BLOCKS = 1 << 16 };
static atomic_bool cached[BLOCKS];

static int is_log(const char *path) { return strcmp(path + root_length, "/db") == 0; }

/* Records a read or write of sled's log. */
static ssize_t kept(const char *path, off64_t place, ssize_t length) {
    if (length > 0 && is_log(path))
        for (off64_t block = place / BLOCK; block < BLOCKS && block * BLOCK < place + length; block++)
            atomic_store(&cached[block], 1);
    return length;
}

/* Is all of it cached? Bytes past the end of the file need no disk. */
static int is_kept(int fd, const char *path, off64_t place, size_t length) {
    struct stat status;
    if (cold || !is_log(path) || fstat(fd, &status) != 0) return 0;
    off64_t end = place + (off64_t)length < status.st_size ? place + (off64_t)length : status.st_size;
    for (off64_t block = place / BLOCK; block * BLOCK < end; block++)
        if (block >= BLOCKS || !atomic_load(&cached[block])) return 0;
    return 1;
}

/* Writes all, half, or nothing. */
#define WRITE(call, path, length, all, half) \
    do { \
        int mine = turn(WRITES, call, path); \
        if (mine && deed->error) return -1; \
        if (mine && (is("die-half") || is("short")) && length > 1) { \
            ssize_t done = half; \
            if (is("die-half")) die(); \
            return done; \
        } \
        ssize_t done = all; \
        if (mine && (is("die-after") || is("die-half"))) die(); \
        return done; \
    } while (0)

ssize_t write(int fd, const void *data, size_t length) {
    NEXT(write);
    char path[4096];
    if (!name_of(fd, path, sizeof path)) return next(fd, data, length);
    WRITE("write", path, length, next(fd, data, length), next(fd, data, length / 2));
}

#define PWRITE(name, offset) \
    ssize_t name(int fd, const void *data, size_t length, offset place) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path)) return next(fd, data, length, place); \
        WRITE("pwrite", path, length, kept(path, place, next(fd, data, length, place)), \
              kept(path, place, next(fd, data, length / 2, place))); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    char path[4096];
    if (!name_of(fd, path, sizeof path)) return next(fd, parts, count);
    WRITE("writev", path, count, next(fd, parts, count), next(fd, parts, 1));
}

#define READ(call, path, length, all, half) \
    do { \
        int mine = turn(READS, call, path); \
        if (mine && deed->error) return -1; \
        return mine && length > 1 ? half : all; \
    } while (0)

ssize_t read(int fd, void *data, size_t length) {
    NEXT(read);
    char path[4096];
    if (!name_of(fd, path, sizeof path)) return next(fd, data, length);
    READ("read", path, length, next(fd, data, length), next(fd, data, length / 2));
}

#define PREAD(name, offset) \
    ssize_t name(int fd, void *data, size_t length, offset place) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path) || is_kept(fd, path, place, length)) return next(fd, data, length, place); \
        READ("pread", path, length, kept(path, place, next(fd, data, length, place)), \
             kept(path, place, next(fd, data, length / 2, place))); \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

DIR *opendir(const char *path) {
    NEXT(opendir);
    if (!is_below(path)) return next(path);
    int mine = turn(OPENS, "opendir", path);
    return mine && deed->error ? NULL : next(path);
}

struct dirent64 *readdir64(DIR *directory) {
    NEXT(readdir64);
    char path[4096];
    /* This is no system call, so it is neither interrupted nor short. */
    if (!name_of(dirfd(directory), path, sizeof path) || deed->error != EIO) return next(directory);
    return turn(READS, "readdir", path) ? NULL : next(directory);
}

#define TRUNCATE(name, offset) \
    int name(int fd, offset length) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path)) return next(fd, length); \
        INT(MAKES, "ftruncate", path, next(fd, length)); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNCING(name) \
    int name(int fd) { \
        NEXT(name); \
        char path[4096]; \
        if (!name_of(fd, path, sizeof path)) return next(fd); \
        INT(SYNCS, #name, path, next(fd)); \
    }
SYNCING(fsync)
SYNCING(fdatasync)
SYNCING(syncfs)

int sync_file_range(int fd, off64_t from, off64_t length, unsigned flags) {
    NEXT(sync_file_range);
    char path[4096];
    if (!name_of(fd, path, sizeof path)) return next(fd, from, length, flags);
    INT(SYNCS, "sync_file_range", path, next(fd, from, length, flags));
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    if (!is_below(from)) return next(from, to);
    INT(NAMES | MAKES, "rename", from, next(from, to));
}

int linkat(int in, const char *from, int at_place, const char *to, int flags) {
    NEXT(linkat);
    if (!is_below(to)) return next(in, from, at_place, to, flags);
    INT(NAMES | MAKES, "linkat", to, next(in, from, at_place, to, flags));
}

int unlink(const char *path) {
    NEXT(unlink);
    if (!is_below(path)) return next(path);
    INT(NAMES, "unlink", path, next(path));
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    /* An existing one takes no space, and fails in its own way. */
    if (!is_below(path) || access(path, F_OK) == 0) return next(path, mode);
    INT(NAMES | MAKES, "mkdir", path, next(path, mode));
}

/* Calls that would bypass the injector. The program does not make them; if it starts to, wrap them too. */
static void stop(const char *call) {
    fprintf(stderr, "intruder: %s is not wrapped\n", call);
    abort();
}

#define UNSEEN_PATH(name, result, declared, path, ...) \
    result name declared { \
        NEXT(name); \
        if (is_below(path)) stop(#name); \
        return next(__VA_ARGS__); \
    }
UNSEEN_PATH(link, int, (const char *from, const char *to), to, from, to)
UNSEEN_PATH(symlink, int, (const char *from, const char *to), to, from, to)
UNSEEN_PATH(truncate, int, (const char *path, off_t length), path, path, length)
UNSEEN_PATH(truncate64, int, (const char *path, off64_t length), path, path, length)
UNSEEN_PATH(creat, int, (const char *path, mode_t mode), path, path, mode)
UNSEEN_PATH(unlinkat, int, (int in, const char *path, int flags), path, in, path, flags)
UNSEEN_PATH(mkdirat, int, (int in, const char *path, mode_t mode), path, in, path, mode)
UNSEEN_PATH(renameat, int, (int in, const char *from, int to_in, const char *to), from, in, from, to_in, to)
UNSEEN_PATH(renameat2, int, (int in, const char *from, int to_in, const char *to, unsigned flags), from, in, from, to_in, to,
            flags)

#define UNSEEN_FILE(name, result, declared, fd, ...) \
    result name declared { \
        NEXT(name); \
        char path[4096]; \
        if (name_of(fd, path, sizeof path)) stop(#name); \
        return next(__VA_ARGS__); \
    }
UNSEEN_FILE(readv, ssize_t, (int fd, const struct iovec *parts, int count), fd, fd, parts, count)
UNSEEN_FILE(pwritev, ssize_t, (int fd, const struct iovec *parts, int count, off_t at_place), fd, fd, parts, count, at_place)
UNSEEN_FILE(pwritev64, ssize_t, (int fd, const struct iovec *parts, int count, off64_t at_place), fd, fd, parts, count, at_place)
UNSEEN_FILE(pwritev2, ssize_t, (int fd, const struct iovec *parts, int count, off_t at_place, int flags), fd, fd, parts, count,
            at_place, flags)
UNSEEN_FILE(fallocate, int, (int fd, int mode, off_t from, off_t length), fd, fd, mode, from, length)
UNSEEN_FILE(fallocate64, int, (int fd, int mode, off64_t from, off64_t length), fd, fd, mode, from, length)
UNSEEN_FILE(posix_fallocate, int, (int fd, off_t from, off_t length), fd, fd, from, length)
UNSEEN_FILE(posix_fallocate64, int, (int fd, off64_t from, off64_t length), fd, fd, from, length)
UNSEEN_FILE(sendfile, ssize_t, (int fd, int from, off_t *at_place, size_t length), fd, fd, from, at_place, length)
UNSEEN_FILE(sendfile64, ssize_t, (int fd, int from, off64_t *at_place, size_t length), fd, fd, from, at_place, length)
UNSEEN_FILE(copy_file_range, ssize_t,
            (int from, off64_t *from_place, int fd, off64_t *at_place, size_t length, unsigned flags), fd, from, from_place, fd,
            at_place, length, flags)

int openat(int in, const char *path, int flags, ...) {
    NEXT(openat);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (is_below(path)) stop("openat");
    return next(in, path, flags, mode);
}
