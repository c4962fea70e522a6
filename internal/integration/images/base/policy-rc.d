#!/bin/sh
# Goes to /usr/sbin: packages must not start their servers while being installed.
exit 101
