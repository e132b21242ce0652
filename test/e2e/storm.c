/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program: a timer's signal interrupts its system calls all the time. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static void ignore(int signal) { (void)signal; }

__attribute__((constructor)) static void begin(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = ignore; /* without SA_RESTART: calls fail with EINTR */
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, NULL);
}
