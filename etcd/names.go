package etcd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/value"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// directory is what the names of all keys of one lock begin with, and of no
// other: the escaped key has no slash, so the one that follows ends it.
func (b *Backend) directory(key string) string { return b.prefix + escape(key) + "/" }

// marker is the name of the key that lives as long as a session and does
// nothing else. No lock's directory begins with it: an escaped key has 25 or
// 2F after a percent sign.
func (b *Backend) marker(id clientv3.LeaseID) string {
	return fmt.Sprintf("%s%%session/%016x", b.prefix, int64(id))
}

// escape writes key without slashes: %2F for /, %25 for %. Different keys stay
// different.
func escape(key string) string {
	if !strings.ContainsAny(key, "/%") {
		return key
	}
	return escaper.Replace(key)
}

var escaper = strings.NewReplacer("%", "%25", "/", "%2F")

// name is the name of a session's one key in a directory: what etcd's own
// Mutex calls its key. It is the same for all acquisitions of the session, not
// new for each, because a deleted name stays in the server's index until the
// next compaction, and every look into the directory has to pass it.
func (s *session) name(dir string) string { return dir + strconv.FormatInt(int64(s.lease), 16) }

// belongs reports whether a stored value is of owner o.
func belongs(stored []byte, o distlock.Owner) bool {
	owner, _, ok := value.Parse(stored)
	return ok && owner == o
}
