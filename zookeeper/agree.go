package zookeeper

import "github.com/go-zookeeper/zk"

// agree has a majority of the servers take a transaction that changes nothing: it has
// one condition, and whether that holds, or may be looked at, does not matter. The server
// behind conn has then all that was written before the call, whichever it is. A sync
// brings less: a leader that is cut off from its followers answers it, until it has
// noticed.
func agree(conn *zk.Conn, path string) error {
	_, err := conn.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
	if err == zk.ErrNoNode || err == zk.ErrNoAuth { // the answer to the condition
		return nil
	}
	return err
}
