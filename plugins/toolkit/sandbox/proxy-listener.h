/* The way out of a network namespace that has none: see proxy-listener.c. */
#ifndef SKILLET_PROXY_LISTENER_H
#define SKILLET_PROXY_LISTENER_H

/* With `--proxy PORT` among the arguments, opens the way out. Must be called in the new network namespace. */
void open_way_out(int argc, char **argv);
#endif
