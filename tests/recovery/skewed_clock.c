/* Lets a process see the time of day wrong by SKEW_SECONDS. The monotonic clock stays right. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t skew(void) {
    static time_t seconds;
    static int known;
    if (!known) {
        const char *text = getenv("SKEW_SECONDS");
        seconds = text ? atol(text) : 0;
        known = 1;
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int outcome = syscall(SYS_clock_gettime, clock, now);
    if (outcome == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += skew();
    return outcome;
}

int gettimeofday(struct timeval *now, void *zone) {
    int outcome = syscall(SYS_gettimeofday, now, zone);
    if (outcome == 0 && now) now->tv_sec += skew();
    return outcome;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
