package servers

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// networks is where the networks of ensembles are taken from: the range for tests of
// network devices (RFC 2544), which no real network uses. Given to the engine rather
// than chosen by it, as a fixed address needs a subnet that was given, and as its own
// choices are few and large.
var networks = netip.MustParsePrefix("198.18.0.0/15")

// subnetBits leaves 13 addresses for members.
const subnetBits = 28

// removalLimit bounds the time that a network is still in use by containers that are
// being removed.
const removalLimit = 10 * time.Second

// A place is where a member of an ensemble is in the network of its peers, apart from
// the one over which its clients come. The zero value is a server without peers, in
// the host's network.
type place struct {
	network string // the engine's id
	addr    netip.Addr
}

// exposed returns which ports are to be published, as attach says: testcontainers drops
// the others.
func (p place) exposed(ports []int) []string {
	if p.network == "" {
		return nil
	}
	names := make([]string, len(ports))
	for i, n := range ports {
		names[i] = strconv.Itoa(n) + "/tcp"
	}
	return names
}

// attach sets the network that clients come over: the host's, or the engine's default
// one with ports published under the same numbers.
func (p place) attach(h *container.HostConfig, ports []int) {
	if p.network == "" {
		h.NetworkMode = "host"
		return
	}
	h.PortBindings = make(network.PortMap)
	for _, n := range ports {
		inside, _ := network.PortFrom(uint16(n), network.TCP)
		h.PortBindings[inside] = []network.PortBinding{{
			HostIP: netip.MustParseAddr(host), HostPort: strconv.Itoa(n),
		}}
	}
}

// connect puts a container in its place among its peers.
func (p place) connect(ctx context.Context, c *client.Client, id string) error {
	if p.network == "" {
		return nil
	}
	_, err := c.NetworkConnect(ctx, p.network, client.NetworkConnectOptions{
		Container: id,
		EndpointConfig: &network.EndpointSettings{
			IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: p.addr},
		},
	})
	return err
}

// disconnect takes a container away from its peers.
func (p place) disconnect(ctx context.Context, c *client.Client, id string) error {
	_, err := c.NetworkDisconnect(ctx, p.network, client.NetworkDisconnectOptions{Container: id})
	return err
}

// createNetwork makes a network that nothing else is reachable from, and returns its id
// and its subnet. It goes on when ctx ends, as create does.
func createNetwork(ctx context.Context, c *client.Client, name string) (string, netip.Prefix, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit)
	defer cancel()
	var err error
	for range 20 { // a subnet that another network has is refused
		subnet := randomSubnet()
		var r client.NetworkCreateResult
		r, err = c.NetworkCreate(ctx, "distlock-test-"+rand.Text(), client.NetworkCreateOptions{
			Driver:   "bridge",
			Internal: true,
			IPAM:     &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet}}},
			Labels:   map[string]string{ownerLabel: self(), nameLabel: name},
		})
		if err == nil || ctx.Err() != nil {
			return r.ID, subnet, err
		}
	}
	return "", netip.Prefix{}, fmt.Errorf("no network: %w", err)
}

func randomSubnet() netip.Prefix {
	var random [4]byte
	rand.Read(random[:])
	first := networks.Addr().As4()
	mask := ^uint32(0) >> networks.Bits()
	n := binary.BigEndian.Uint32(first[:]) | binary.BigEndian.Uint32(random[:])&mask
	binary.BigEndian.PutUint32(first[:], n)
	return netip.PrefixFrom(netip.AddrFrom4(first), subnetBits).Masked()
}

// removeNetwork removes a network, or does nothing if it is gone. Its containers must
// have been removed, or be about to be.
func removeNetwork(ctx context.Context, c *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removalLimit)
	defer cancel()
	for {
		_, err := c.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if !wait(ctx, pollInterval) {
			return err
		}
	}
}
