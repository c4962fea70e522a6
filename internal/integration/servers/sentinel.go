package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// SentinelMaster is the name by which sentinels know the primary.
const SentinelMaster = "distlock"

// sentinelCount is the number of sentinels, quorum how many must find the primary down.
const sentinelCount, quorum = 3, 2

// SentinelSpec is a primary, replicas, and three sentinels that fail over.
type SentinelSpec struct {
	Of       Spec
	Replicas int // 0 means 1
}

// Sentinel is a primary with replicas and three sentinels. The sentinels promote a
// replica when the primary has not answered for a second. Primary and Replicas go on
// naming the servers as they were started; see [Sentinel.Current].
type Sentinel struct {
	Primary   *Server
	Replicas  []*Server
	Sentinels []*Server
}

// Launch starts all and waits until each sentinel knows all others and all replicas.
func (p SentinelSpec) Launch(ctx context.Context) (*Sentinel, error) {
	s := &Sentinel{}
	if err := s.launch(ctx, p.Of, max(p.Replicas, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("sentinel of %s: %w", p.Of.Name, err), s.Close(ctx))
	}
	return s, nil
}

func (s *Sentinel) launch(ctx context.Context, of Spec, replicas int) (err error) {
	if s.Primary, err = quick(of).named("%s primary", of.Name).Launch(ctx); err != nil {
		return err
	}
	specs := make([]Spec, replicas)
	for i := range specs {
		specs[i] = replicaOf(of, s.Primary.port(0)).named("%s replica %d", of.Name, i+1)
	}
	if s.Replicas, err = launchAll(ctx, specs...); err != nil {
		return err
	}
	// A sentinel asks the primary for its replicas once at first, and then only
	// every ten seconds: they had better be there.
	err = settle(ctx, func(ctx context.Context) error { return replicated(ctx, s.Primary, replicas) })
	if err != nil {
		return err
	}
	if s.Sentinels, err = launchAll(ctx, sentinelSpecs(of, s.Primary.port(0))...); err != nil {
		return err
	}
	return settle(ctx, s.complete)
}

// sentinelSpecs returns the specs of the sentinels for the primary at port.
func sentinelSpecs(of Spec, port string) []Spec {
	const path = "/data/sentinel.conf" // a sentinel writes what it learns into it
	binary := of.Command([]int{0})[0]
	specs := make([]Spec, sentinelCount)
	for i := range specs {
		s := of.named("%s sentinel %d", of.Name, i+1)
		s.Command = func([]int) []string { return []string{binary, path, "--sentinel"} }
		s.Files = func(ports []int) map[string]string {
			return map[string]string{path: sentinelConf(ports[0], port)}
		}
		specs[i] = s
	}
	return specs
}

func sentinelConf(own int, primary string) string {
	return strings.Join([]string{
		fmt.Sprintf("port %d", own),
		"bind " + host,
		"protected-mode no",
		"sentinel announce-ip " + host,
		fmt.Sprintf("sentinel announce-port %d", own),
		fmt.Sprintf("sentinel monitor %s %s %s %d", SentinelMaster, host, primary, quorum),
		"sentinel down-after-milliseconds " + SentinelMaster + " 1000",
		"sentinel failover-timeout " + SentinelMaster + " 5000",
		"",
	}, "\n")
}

// complete returns nil once each sentinel could fail over.
func (s *Sentinel) complete(ctx context.Context) error {
	want := fmt.Sprintf("master0:name=%s,status=ok,address=%s,slaves=%d,sentinels=%d",
		SentinelMaster, s.Primary.Addr(), len(s.Replicas), sentinelCount)
	for _, n := range s.Sentinels {
		if err := expect(ctx, n.Addr(), []string{"INFO", "sentinel"}, want); err != nil {
			return err
		}
	}
	return nil
}

// Current returns the server that the first sentinel that answers takes for the
// primary.
func (s *Sentinel) Current(ctx context.Context) (*Server, error) {
	var errs []error
	for _, n := range s.Sentinels {
		reply, err := command(ctx, n.Addr(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelMaster)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, v := range append(group{s.Primary}, s.Replicas...) {
			if pair, _ := reply.([]any); len(pair) == 2 && v.Addr() == fmt.Sprintf("%s:%s", pair...) {
				return v, nil
			}
		}
		errs = append(errs, fmt.Errorf("%s names %v", n.Name(), reply))
	}
	return nil, errors.Join(errs...)
}

// Addrs returns the addresses of the sentinels, which clients are given together with
// [SentinelMaster].
func (s *Sentinel) Addrs() []string { return group(s.Sentinels).Addrs() }

// Close removes all servers, the sentinels first.
func (s *Sentinel) Close(ctx context.Context) error {
	return errors.Join(group(s.Sentinels).Close(ctx), append(group{s.Primary}, s.Replicas...).Close(ctx))
}
