// Moves the wall clock of a server it is preloaded into, so that a test can let one
// jump in time without touching the host's clock.
//
//	LD_PRELOAD=/usr/local/lib/clockshift.so
//	echo -3600000 >/clock-shift     # in the container: an hour back, in ms
//
// Without a file there is no shift; while one is being replaced, the last one.
// The monotonic clock is left alone, as it would be by an NTP step or an operator.
//
// The harness compiles it on the host too, for images that do not have it: so it takes
// nothing from the C library that an older one than the host's might not have.
//
// Why not libfaketime: it hangs at startup with jemalloc, which Redis uses
// (wolfcw/libfaketime#130). jemalloc reads the clock while it initializes, so
// nothing here may allocate: system calls only, no lookup of the real function.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long number(const char *text) {
	long long n = 0;
	int negative = *text == '-';
	for (text += negative; *text >= '0' && *text <= '9'; text++)
		n = 10 * n + (*text - '0');
	return negative ? -n : n;
}

static long long shift_ms(void) {
	static long long shift;
	char text[32];
	int saved = errno; // callers do not expect a clock to change it
	int fd = open("/clock-shift", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof text - 1);
		close(fd);
		if (n > 0) {
			text[n] = 0;
			shift = number(text);
		}
	}
	errno = saved;
	return shift;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int r = syscall(SYS_clock_gettime, clock, t);
	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		long long ms = shift_ms(), ns = t->tv_nsec + ms % 1000 * 1000000;
		t->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
		t->tv_nsec = (ns + 1000000000) % 1000000000;
	}
	return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
	struct timespec t;
	int r = clock_gettime(CLOCK_REALTIME, &t);
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return r;
}

time_t time(time_t *out) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
