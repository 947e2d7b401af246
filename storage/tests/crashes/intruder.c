/* Lets one system call on the files below a directory go wrong: preloaded into a process, it stands in front of the C
 * library's calls, counts those to which its deed applies, and does the deed at a chosen one.
 *
 * INTRUDER_DIRECTORY  the directory
 * INTRUDER_AT         the number of the call, from 1; 0 for none
 * INTRUDER_LASTING    when it is set, all calls from that one on go wrong
 * INTRUDER_LOG        a file that gets a line for each call that counts, and one for the deed
 * INTRUDER_DEED       what is done:
 *
 *   die-before   the process is killed instead of the call      every call
 *   die-after    it is killed after it                          every call
 *   die-half     half of the data is written, then it is killed writes
 *   EIO          the call fails                                 every call
 *   ENOSPC       it fails                                       writes, and what makes or lengthens a file or a name
 *   EMFILE       it fails                                       opening
 *   EINTR        it fails                                       writes and syncs
 *   short        half of the data is written                    writes
 *   hang         it never returns                               syncs
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITES = 1, SYNCS = 2, OPENS = 4, MAKES = 8, NAMES = 16 };

static const struct deed {
    const char *name;
    int kinds, error;
} deeds[] = {
    {"die-before", ~0, 0},   {"die-after", ~0, 0},          {"die-half", WRITES, 0},
    {"EIO", ~0, EIO},        {"ENOSPC", WRITES | MAKES, ENOSPC}, {"EMFILE", OPENS, EMFILE},
    {"EINTR", WRITES | SYNCS, EINTR}, {"short", WRITES, 0}, {"hang", SYNCS, 0},
};

static const struct deed *deed;
static long at;
static int lasting, logs = -1;
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
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (strcmp(deeds[i].name, name) == 0) deed = &deeds[i];
    if (!deed) {
        fprintf(stderr, "intruder: no deed is called %s\n", name);
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

/* Is it this call's turn? What is to be done instead of it is done here; else the caller does it. */
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

/* A call that gives an int: it fails, or the process dies after it. */
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
        WRITE("pwrite", path, length, next(fd, data, length, place), next(fd, data, length / 2, place)); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    char path[4096];
    if (!name_of(fd, path, sizeof path)) return next(fd, parts, count);
    WRITE("writev", path, count, next(fd, parts, count), next(fd, parts, 1));
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

int link(const char *from, const char *to) {
    NEXT(link);
    if (!is_below(to)) return next(from, to);
    INT(NAMES | MAKES, "link", to, next(from, to));
}

int unlink(const char *path) {
    NEXT(unlink);
    if (!is_below(path)) return next(path);
    INT(NAMES, "unlink", path, next(path));
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    /* One that is there already takes no room, and fails in its own way. */
    if (!is_below(path) || access(path, F_OK) == 0) return next(path, mode);
    INT(NAMES | MAKES, "mkdir", path, next(path, mode));
}
