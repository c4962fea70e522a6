package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// DefaultNamespace is the namespace where Options say nothing.
const DefaultNamespace = "distlock"

// ID returns the number of the advisory lock of key: the first 64 bits of the
// SHA-256 of the namespace, a zero byte, and the key, as a signed number. It is
// fixed for good, so that other programs can take part:
//
//	SELECT ('x' || encode(substr(sha256(convert_to(NAMESPACE, 'UTF8') ||
//		'\x00'::bytea || convert_to(KEY, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
//
// Two keys can have the same number, though among a million keys the odds of
// such a pair are under one in thirty million. All that it does is that each
// waits for the other. Who holds both at a time would wait for itself.
//
// The numbers are those of pg_advisory_lock(bigint), in one database. A program
// that takes such locks by numbers of its own should use the form with two
// integers, which never meets this one.
func ID(namespace, key string) int64 {
	var buf [256]byte
	text := append(append(append(buf[:0], namespace...), 0), key...)
	sum := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// bell is the number of the advisory lock that who breaks a lock of the connection to
// this server process shares meanwhile, so that it learns of it without a look at a table.
func bell(pid int64) int64 { return ID("distlock break", strconv.FormatInt(pid, 10)) }

// channel is what a release of the lock with this id notifies; sql/release.sql
// makes the same name.
func channel(id int64) string { return channelPrefix + strconv.FormatUint(uint64(id), 16) }

const channelPrefix = "distlock_"

// channelID is the reverse of channel.
func channelID(name string) (int64, bool) {
	if len(name) <= len(channelPrefix) || name[:len(channelPrefix)] != channelPrefix {
		return 0, false
	}
	id, err := strconv.ParseUint(name[len(channelPrefix):], 16, 64)
	return int64(id), err == nil
}
