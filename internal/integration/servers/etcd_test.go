package servers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// etcdBound is how long a member has for an answer.
const etcdBound = 2 * time.Second

// etcdCall sends a request of etcd's JSON interface and reads the reply into a value.
func etcdCall(addr, path string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	c := http.Client{Timeout: etcdBound}
	resp, err := c.Post("http://"+addr+"/v3/"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(reply)
}

func etcdPut(m *servers.Member, key, value string) error {
	request := map[string]any{"key": []byte(key), "value": []byte(value)}
	return etcdCall(m.Addr(), "kv/put", request, new(any))
}

// etcdGet reads a key, "" if it is not there, from the member alone if local is true.
func etcdGet(m *servers.Member, key string, local bool) (string, error) {
	request := map[string]any{"key": []byte(key), "serializable": local}
	var reply struct{ Kvs []struct{ Value []byte } }
	if err := etcdCall(m.Addr(), "kv/range", request, &reply); err != nil || len(reply.Kvs) == 0 {
		return "", err
	}
	return string(reply.Kvs[0].Value), nil
}

// etcdStatus returns a member's own id and whom it takes for the leader, "0" if nobody.
// Both are "" if it does not answer.
func etcdStatus(addr string) (id, leader string) {
	reply := struct {
		Header struct {
			Member string `json:"member_id"`
		}
		Leader string
	}{Leader: "0"}
	if err := etcdCall(addr, "maintenance/status", struct{}{}, &reply); err != nil {
		return "", ""
	}
	return reply.Header.Member, reply.Leader
}

func etcdLeader(addr string) string {
	_, leader := etcdStatus(addr)
	return leader
}

// leaderOf waits until there is a leader and returns it.
func leaderOf(t *testing.T, e *servers.Ensemble) (found *servers.Member) {
	t.Helper()
	eventually(t, "a leader", func() bool {
		for _, m := range e.Members {
			if id, leader := etcdStatus(m.Addr()); id != "" && id == leader {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// others returns the members that are not m.
func others(e *servers.Ensemble, m *servers.Member) (all []*servers.Member) {
	for _, o := range e.Members {
		if o != m {
			all = append(all, o)
		}
	}
	return all
}
