package zookeeper

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
)

// The node of a key is
//
//	ROOT / ESCAPED-KEY
//
// and below it each owner that has the key or waits for it has one,
//
//	OWNER-IN-HEX - SEQUENCE
//
// where SEQUENCE is the server's. In a key all bytes but letters, digits and
// some punctuation are written as % and two hexadecimal digits, so that a key
// is one path element, whatever slashes and characters it has that ZooKeeper
// refuses, and no key's node is above another's.

// pingName is what no key is escaped to.
const pingName = "/%ping"

// plain are the bytes that stay as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@=+,~"

// keyPath is the node of key.
func (b *Backend) keyPath(key string) string { return b.opts.Root + "/" + escape(key) }

func escape(key string) string {
	var e strings.Builder
	for i := range len(key) {
		c := key[i]
		if strings.IndexByte(plain, c) >= 0 && (c != '.' || i > 0) { // "." and ".." are no names
			e.WriteByte(c)
			continue
		}
		e.WriteByte('%')
		e.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	return e.String()
}

// maxRoot bounds Options.Root.
const maxRoot = 256

func checkRoot(root string) error {
	bad := len(root) > maxRoot || !strings.HasPrefix(root, "/") || root == "/zookeeper" || strings.HasPrefix(root, "/zookeeper/")
	for _, name := range strings.Split(strings.TrimPrefix(root, "/"), "/") {
		bad = bad || name == "" || name == "." || name == ".."
	}
	bad = bad || strings.ContainsFunc(root, isForbidden)
	if bad {
		return distlock.Invalid("root", strconv.Quote(root), "a path of up to "+strconv.Itoa(maxRoot)+
			` bytes like "/a/b", not "/" and not below "/zookeeper"`)
	}
	return nil
}

// isForbidden reports whether ZooKeeper refuses r in names, or the client does.
func isForbidden(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff
}

// guidLen is how long an owner is in a node's name, with the dash behind it.
const guidLen = 2*len(distlock.Owner{}) + 1

// prefix begins the names of owner's nodes.
func prefix(owner distlock.Owner) string { return owner.Text() + "-" }

// ownerOf returns whose node the one at path is, if it is one of ours.
func ownerOf(path string) (o distlock.Owner, ok bool) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if _, ok = sequence(name); !ok {
		return o, false
	}
	_, err := hex.Decode(o[:], []byte(name[:guidLen-1]))
	return o, err == nil
}

// sequence returns the sequence number in the name of one of our nodes. Others
// have none, and take no part.
func sequence(name string) (seq int32, ok bool) {
	if len(name) <= guidLen || name[guidLen-1] != '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(name[guidLen:], 10, 32)
	return int32(n), err == nil
}

// before reports whether sequence number a was given out before b. They are
// signed and 32 bits long: after 2147483647 comes -2147483648.
func before(a, b int32) bool { return b-a > 0 }
