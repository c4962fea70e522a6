//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// An address may have a password in it, and clients put the host that they do
// not reach into their errors. So a password is taken out of what they get as the
// host, no error here quotes an address, and an @ that is left is refused: it is
// the end of a password that was not written as a URL wants it.

// noURL is the error of an address that is not one of kind.
func noURL(kind string) error { return fmt.Errorf("-addr is no URL of a %s", kind) }

var errNotHost = errors.New("-addr is not HOST:PORT, which has no user or password")

// hosts parts addr at the commas.
func hosts(addr string) ([]string, error) {
	all := strings.Split(addr, ",")
	if strings.ContainsAny(addr, "@/") || slices.Contains(all, "") {
		return nil, errNotHost
	}
	return all, nil
}

// endpoint takes the user out of addr, which is HOST:PORT or a URL.
func endpoint(addr string) (where string, user *url.Userinfo, err error) {
	if !strings.Contains(addr, "://") {
		_, err := hosts(addr)
		return addr, nil, err
	}
	u, err := url.Parse(addr)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", nil, noURL("server")
	}
	user, u.User = u.User, nil
	if where = u.String(); strings.Contains(where, "@") {
		return "", nil, noURL("server")
	}
	return where, user, nil
}

// redisOptions are those of one server, which is HOST:PORT or a URL.
func redisOptions(addr string) (*goredis.Options, error) {
	if !strings.Contains(addr, "://") {
		_, err := hosts(addr)
		return &goredis.Options{Addr: addr}, err
	}
	o, err := goredis.ParseURL(addr)
	if err != nil || strings.Contains(o.Addr, "@") {
		return nil, noURL("Redis")
	}
	return o, nil
}
