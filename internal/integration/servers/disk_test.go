package servers_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestDiskIsFilledAndFreed(t *testing.T) {
	t.Parallel()
	// A full disk ends this server's writes, not the server.
	s := servers.Start(t, servers.Redis.WithDisk(1<<20).WithArgs("--dir", servers.Disk, "--appendonly", "yes"))
	fails := func() bool { return servers.Redis.Ready(t.Context(), s.Addr()) != nil }
	servers.Do(t, s.FillDisk, s.FillDisk, s.FreeDisk, s.FreeDisk, s.FillDisk)
	if fails() {
		t.Error("the server ended with its space")
	}
	if err := servers.Start(t, servers.Redis).FillDisk(t.Context()); err == nil {
		t.Error("a disk was filled that there is not")
	}
}
