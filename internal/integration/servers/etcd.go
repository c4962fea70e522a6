package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var (
	// Etcd is a single member. It keeps its data on disk.
	Etcd = Spec{
		Name:  "etcd",
		Image: etcdImage,
		Ports: 2, // its peers' too, though there are none
		Command: func(ports []int) []string {
			clients, peers := etcdURL(host, ports[0]), etcdURL(host, ports[1])
			return []string{
				"etcd", "--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
				"--initial-cluster", "default=" + peers,
			}
		},
		Env:   etcdEnv,
		Ready: etcdReady,
		inGo:  true,
	}
	// EtcdTrio is a cluster of three. A member that is started empty is refused by the
	// others: it has to be removed from the cluster and added again.
	EtcdTrio = EnsembleSpec{Name: "etcd trio", Member: etcdMember}
)

// etcdEntries are what the tests of the etcd backend are run against.
var etcdEntries = []Entry{
	{Name: "etcd", Env: "DISTLOCK_TEST_ETCD", Launch: launch[*Server](Etcd)},
	{Name: "etcd-trio", Env: "DISTLOCK_TEST_ETCD_TRIO", Launch: launch[*Ensemble](EtcdTrio)},
}

var (
	etcdImage = Image{Local: "etcd:3.7"}
	etcdEnv   = map[string]string{"ETCD_DATA_DIR": "/var/lib/etcd", "ETCD_LOG_LEVEL": "warn"}
)

// etcdMember returns how the i-th member of a cluster is run.
func etcdMember(i int, peers []string) Spec {
	const port = 2380 // of the peers
	members := make([]string, len(peers))
	for j, ip := range peers {
		members[j] = fmt.Sprintf("m%d=%s", j, etcdURL(ip, port))
	}
	return Spec{
		Image: etcdImage,
		Command: func(ports []int) []string {
			return []string{
				"etcd", "--name", fmt.Sprint("m", i), "--initial-cluster", strings.Join(members, ","),
				"--listen-client-urls", etcdURL("0.0.0.0", ports[0]), "--advertise-client-urls", etcdURL(host, ports[0]),
				"--listen-peer-urls", etcdURL("0.0.0.0", port), "--initial-advertise-peer-urls", etcdURL(peers[i], port),
			}
		},
		Env:   etcdEnv,
		Ready: etcdReady,
	}
}

func etcdURL(ip string, port int) string { return fmt.Sprintf("http://%s:%d", ip, port) }

// etcdReady asks for the member's own word that it is healthy, for which it reads
// through the log, so that it must have a leader.
func etcdReady(ctx context.Context, addr string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/health", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return fmt.Errorf("not healthy: %s", text)
	}
	return nil
}
