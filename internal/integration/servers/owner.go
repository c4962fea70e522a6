package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/moby/moby/client"
)

// Labels on every container and network.
const (
	ownerLabel = "distlock-test.owner" // HOST/PID/START of the process that started it
	nameLabel  = "distlock-test.name"
)

// self returns the label of this process. With the time of its start, a process
// that has the same id later is another.
var self = sync.OnceValue(func() string {
	return owner(os.Getpid())
})

func owner(pid int) string {
	name, _ := os.Hostname()
	return fmt.Sprintf("%s/%d/%s", name, pid, startOf(pid))
}

// startOf returns when a process started, as the kernel counts, or "" where there
// is no /proc.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in parentheses, may contain anything; START is field 22, that is
	// the 20th after the name.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}

// orphaned says whether a label names a process of this host that is gone. Of
// other hosts that share the engine it knows nothing.
func orphaned(label string) bool {
	parts := strings.Split(label, "/")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	name, _ := os.Hostname()
	if err != nil || parts[0] != name {
		return false
	}
	return owner(pid) != label || syscall.Kill(pid, 0) == syscall.ESRCH
}

// Sweep removes the containers and networks whose process is gone without having
// removed them, and returns how many containers those were.
func Sweep(ctx context.Context) (int, error) {
	return sweep(ctx, orphaned)
}

// RemoveOwn removes what containers and networks this process still has. It is for the end of a
// program.
func RemoveOwn(ctx context.Context) (int, error) {
	return sweep(ctx, func(label string) bool { return label == self() })
}

func sweep(ctx context.Context, wanted func(label string) bool) (n int, err error) {
	c, err := engine()
	if err != nil {
		return 0, err
	}
	owned := make(client.Filters).Add("label", ownerLabel)
	list, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: owned})
	if err != nil {
		return 0, fmt.Errorf("docker: %w", err)
	}
	for _, item := range list.Items {
		if !wanted(item.Labels[ownerLabel]) {
			continue
		}
		if err := removeContainer(ctx, c, item.ID); err != nil {
			return n, fmt.Errorf("remove what a crashed run left: %w", err)
		}
		n++
	}
	nets, err := c.NetworkList(ctx, client.NetworkListOptions{Filters: owned})
	if err != nil {
		return n, fmt.Errorf("docker: %w", err)
	}
	for _, item := range nets.Items {
		if !wanted(item.Labels[ownerLabel]) {
			continue
		}
		if err := removeNetwork(ctx, c, item.ID); err != nil {
			return n, fmt.Errorf("remove what a crashed run left: %w", err)
		}
	}
	return n, nil
}
