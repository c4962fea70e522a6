package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// ConsulMinTTL is the shortest TTL of a session on these servers, where Consul's own
// default is 10s.
const ConsulMinTTL = "500ms"

var (
	// Consul is a single server. It keeps its data in memory only and comes back empty.
	Consul = Spec{
		Name:  "consul",
		Image: consulImage,
		Ports: 3, // of clients, raft and gossip
		Command: func(ports []int) []string {
			return append(consulAgent(ports[0]), "-bootstrap-expect=1", "-data-dir=/dev/shm/consul", "-client="+host, "-bind="+host,
				"-server-port="+strconv.Itoa(ports[1]), "-serf-lan-port="+strconv.Itoa(ports[2]))
		},
		Ready: consulReady,
		inGo:  true,
	}
	// ConsulTrio is a cluster of three with its data on disk. Failed members stay members, so that nothing
	// but time ends the sessions that were opened through them.
	ConsulTrio = EnsembleSpec{Name: "consul trio", Member: consulMember}
)

// consulEntries are what the tests of the consul backend are run against.
var consulEntries = []Entry{
	{Name: "consul", Env: "DISTLOCK_TEST_CONSUL", Launch: launch[*Server](Consul)},
	{Name: "consul-trio", Env: "DISTLOCK_TEST_CONSUL_TRIO", Launch: launch[*Ensemble](ConsulTrio)},
}

var consulImage = Image{Local: "consul:1.8", Official: "hashicorp/consul:1.20"}

// consulAgent returns the command of a server whose clients come to port.
func consulAgent(port int) []string {
	return []string{
		"agent", "-server", "-http-port=" + strconv.Itoa(port), "-dns-port=-1", "-serf-wan-port=-1", "-log-level=warn",
		"-hcl=session_ttl_min=\"" + ConsulMinTTL + "\"",
		"-hcl=performance{raft_multiplier=1}", // as in production; without it elections take 6 s
		"-hcl=autopilot{cleanup_dead_servers=false}",
	}
}

// consulMember returns how the i-th member of a cluster is run.
func consulMember(i int, peers []string) Spec {
	return Spec{
		Image: consulImage,
		Command: func(ports []int) []string {
			command := append(consulAgent(ports[0]),
				"-bootstrap-expect="+strconv.Itoa(len(peers)), "-client=0.0.0.0", "-bind=0.0.0.0",
				"-advertise="+peers[i], "-node="+fmt.Sprint("m", i), "-retry-interval=1s")
			for _, p := range peers {
				command = append(command, "-retry-join="+p)
			}
			return command
		},
		Ready: consulReady,
	}
}

// consulReady opens a session and ends it, for which there must be a leader that knows
// the server's own node.
func consulReady(ctx context.Context, addr string) error {
	var session struct{ ID string }
	text, err := consulPut(ctx, addr, "session/create", `{"TTL": "10s", "NodeChecks": []}`)
	if err == nil {
		err = json.Unmarshal([]byte(text), &session)
	}
	if err == nil {
		_, err = consulPut(ctx, addr, "session/destroy/"+session.ID, "")
	}
	return err
}

// consulPut sends a request of Consul's HTTP interface and returns the answer.
func consulPut(ctx context.Context, addr, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+addr+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), err
}
