// Preloaded into workerd: CLOCK_REALTIME runs ahead by the milliseconds in the file $WALL_CLOCK_OFFSET_FILE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset;
static int opened;

static long long ahead_ms(void) {
  if (!opened) {
    opened = 1;
    const char *path = getenv("WALL_CLOCK_OFFSET_FILE");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY) : -1;
    if (file >= 0) {
      void *page = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
      if (page != MAP_FAILED) offset = page;
      syscall(SYS_close, file);
    }
  }
  return offset ? *offset : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    long long ahead = ahead_ms();
    long long ns = now->tv_nsec + (ahead % 1000) * 1000000LL;
    now->tv_sec += ahead / 1000 + ns / 1000000000LL;
    now->tv_nsec = ns % 1000000000LL;
  }
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (now) {
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
  }
  return 0;
}

time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
