package servers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"time"
)

// ZooKeeperTick is the tickTime of the servers here: a tenth of the default, so that
// tests need not wait for sessions of four seconds.
const ZooKeeperTick = 200 * time.Millisecond

var (
	// ZooKeeper is a single server. It keeps its data on disk.
	ZooKeeper = ZooKeeperWith()
	// ZooKeeperTrio is an ensemble of three. A follower that hears nothing of its
	// leader goes on serving reads for two seconds.
	ZooKeeperTrio = ZooKeeperTrioWith()
)

// zooKeeperEntries are what the tests of the zookeeper backend are run against.
var zooKeeperEntries = []Entry{
	{Name: "zookeeper", Env: "DISTLOCK_TEST_ZOOKEEPER", Launch: launch[*Server](ZooKeeper)},
	{Name: "zookeeper-trio", Env: "DISTLOCK_TEST_ZOOKEEPER_TRIO", Launch: launch[*Ensemble](ZooKeeperTrio)},
}

// ZooKeeperWith returns ZooKeeper with more lines in its zoo.cfg, the last of a kind
// counts.
func ZooKeeperWith(lines ...string) Spec {
	return zooKeeperSpec(host, nil, lines)
}

// ZooKeeperTrioWith returns ZooKeeperTrio with more lines in each zoo.cfg.
func ZooKeeperTrioWith(lines ...string) EnsembleSpec {
	return EnsembleSpec{Name: "zookeeper trio", Member: func(i int, peers []string) Spec {
		s := zooKeeperSpec("0.0.0.0", peers, lines)
		s.Env = maps.Clone(s.Env)
		s.Env["ZOO_MY_ID"] = fmt.Sprint(i + 1)
		return s
	}}
}

// zooKeeperSpec returns how a server is run that listens to clients at ip.
func zooKeeperSpec(ip string, peers, lines []string) Spec {
	return Spec{
		Name:    "zookeeper",
		Image:   Image{Local: "zookeeper:3.9", Official: "zookeeper:3.9"},
		Command: func([]int) []string { return []string{"zkServer.sh", "start-foreground"} },
		// Empty containers go after a second instead of a minute.
		Env: map[string]string{"JVMFLAGS": "-Dznode.container.checkIntervalMs=1000"},
		Files: func(ports []int) map[string]string {
			return map[string]string{"/conf/zoo.cfg": zooKeeperConf(ip, ports[0], peers, lines)}
		},
		Ready: zooKeeperReady,
	}
}

// zooKeeperConf returns a server's zoo.cfg.
func zooKeeperConf(ip string, port int, peers, more []string) string {
	lines := []string{
		"dataDir=/data",
		"clientPortAddress=" + ip, fmt.Sprint("clientPort=", port),
		fmt.Sprint("tickTime=", ZooKeeperTick.Milliseconds()),
		"maxSessionTimeout=40000", // what it is with the default tick
		"initLimit=50", "syncLimit=10",
		"maxClientCnxns=0",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"quorumListenOnAllIPs=true", // also for a member that starts while it is cut off
		"preAllocSize=1024",         // KB of a log file; 64 MB would only cost time
	}
	for i, peer := range peers {
		lines = append(lines, fmt.Sprintf("server.%d=%s:2888:3888", i+1, peer))
	}
	return strings.Join(append(lines, more...), "\n") + "\n"
}

// zooKeeperReady asks what the server is, which it does not know while there is no leader.
func zooKeeperReady(ctx context.Context, addr string) error {
	text, err := ZooKeeperAsk(ctx, addr, "srvr")
	if err != nil {
		return err
	}
	if !strings.Contains(text, "Mode: ") {
		return fmt.Errorf("not serving: %s", text)
	}
	return nil
}

// ZooKeeperAsk sends one of ZooKeeper's four-letter commands and returns the answer.
func ZooKeeperAsk(ctx context.Context, addr, command string) (string, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}
	if _, err := io.WriteString(c, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(c)
	return string(text), err
}
