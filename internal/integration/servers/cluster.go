package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// clusterSlots is the number of hash slots of a Redis Cluster.
const clusterSlots = 16384

// ClusterSpec is a Redis Cluster of masters without replicas.
type ClusterSpec struct {
	Of    Spec
	Nodes int // 0 means 3, which is also the least
}

// A Cluster is a Redis Cluster. Each node has an equal and contiguous part of the
// slots, in the order of Nodes. When a node has been down for two seconds, the others
// refuse all commands. A node that is started again still knows its slots, but has
// its data only if it is durable.
type Cluster struct {
	Nodes []*Server
}

// Launch starts the nodes and waits until each reports the cluster to be whole.
func (c ClusterSpec) Launch(ctx context.Context) (*Cluster, error) {
	specs := make([]Spec, max(c.Nodes, 3))
	for i := range specs {
		specs[i] = clusterNode(c.Of).named("%s cluster node %d", c.Of.Name, i+1)
	}
	nodes, err := launchAll(ctx, specs...)
	if err != nil {
		return nil, err
	}
	if err = join(ctx, nodes); err == nil {
		err = settle(ctx, func(ctx context.Context) error { return whole(ctx, nodes) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cluster of %s: %w", c.Of.Name, err), nodes.Close(ctx))
	}
	return &Cluster{nodes}, nil
}

// clusterNode makes a cluster's node of a Spec. Its bus has a port of its own rather
// than that of the clients plus 10000, which may be taken.
func clusterNode(s Spec) Spec {
	s.Ports = 2
	command := s.Command
	s.Command = func(ports []int) []string {
		return append(command(ports),
			"--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
			"--cluster-port", strconv.Itoa(ports[1]),
			"--cluster-announce-ip", host,
		)
	}
	return s
}

// join gives each node its slots and an epoch, which must differ, and lets it meet
// those before it. It does what "redis-cli --cluster create" does.
func join(ctx context.Context, nodes group) error {
	for i, n := range nodes {
		first, last := i*clusterSlots/len(nodes), (i+1)*clusterSlots/len(nodes)-1
		steps := [][]string{
			{"CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)},
			{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)},
		}
		for _, other := range nodes[:i] {
			steps = append(steps, []string{
				"CLUSTER", "MEET", host, other.port(0), other.port(1),
			})
		}
		for _, step := range steps {
			if _, err := command(ctx, n.Addr(), step...); err != nil {
				return fmt.Errorf("%v: %w", step, err)
			}
		}
	}
	return nil
}

// whole returns nil if every node sees all others and all slots served.
func whole(ctx context.Context, nodes group) error {
	count := strconv.Itoa(len(nodes))
	for _, n := range nodes {
		err := expect(ctx, n.Addr(), []string{"CLUSTER", "INFO"}, "cluster_state:ok",
			"cluster_slots_ok:"+strconv.Itoa(clusterSlots), "cluster_known_nodes:"+count, "cluster_size:"+count)
		if err != nil {
			return err
		}
	}
	return nil
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string { return group(c.Nodes).Addrs() }

// Close removes all nodes.
func (c *Cluster) Close(ctx context.Context) error { return group(c.Nodes).Close(ctx) }
