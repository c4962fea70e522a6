//go:build unix

package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/memory"
	"github.com/distlock-go/distlock/postgres"
	redislock "github.com/distlock-go/distlock/redis"
	"github.com/distlock-go/distlock/redlock"
	"github.com/distlock-go/distlock/zookeeper"
)

func nothing() error { return nil }

func openMemory(string) (distlock.Backend, func() error, error) {
	return memory.New(), nothing, nil
}

func openRedis(addr string) (distlock.Backend, func() error, error) {
	if strings.Contains(addr, "://") {
		o, err := redisOptions(addr)
		if err != nil {
			return nil, nil, err
		}
		rdb := goredis.NewClient(o)
		return redislock.New(rdb, nil), rdb.Close, nil
	}
	addrs, err := hosts(addr)
	if err != nil {
		return nil, nil, err
	}
	rdb := goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: addrs})
	return redislock.New(rdb, nil), rdb.Close, nil
}

func openRedlock(addr string) (distlock.Backend, func() error, error) {
	var nodes []goredis.UniversalClient
	for part := range strings.SplitSeq(addr, ",") {
		o, err := redisOptions(part)
		if err != nil {
			return nil, nil, err // no client has connected
		}
		nodes = append(nodes, goredis.NewClient(o))
	}
	disconnect := func() error {
		for _, n := range nodes {
			_ = n.Close() // nothing is left to be sent
		}
		return nil
	}
	return redlock.New(nodes, &redlock.Options{Fenced: true}), disconnect, nil
}

func openEtcd(addr string) (distlock.Backend, func() error, error) {
	c := clientv3.Config{
		DialTimeout:          10 * time.Second,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
		Logger:               zap.NewNop(), // errors are told once, by us
	}
	for part := range strings.SplitSeq(addr, ",") {
		where, user, err := endpoint(part)
		if err != nil {
			return nil, nil, err
		}
		if user != nil {
			c.Username = user.Username()
			c.Password, _ = user.Password()
		}
		c.Endpoints = append(c.Endpoints, where)
	}
	cli, err := clientv3.New(c)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errService, err)
	}
	return etcd.New(cli, nil), cli.Close, nil
}

func openZooKeeper(addr string) (distlock.Backend, func() error, error) {
	servers, err := hosts(addr)
	if err != nil {
		return nil, nil, err
	}
	return zookeeper.New(servers, nil), nothing, nil
}

func openConsul(addr string) (distlock.Backend, func() error, error) {
	where, user, err := endpoint(addr)
	if err != nil {
		return nil, nil, err
	}
	c := api.DefaultConfig() // with the token of CONSUL_HTTP_TOKEN
	c.Address = where
	if user != nil {
		c.HttpAuth = &api.HttpBasicAuth{Username: user.Username()}
		c.HttpAuth.Password, _ = user.Password()
	}
	client, err := api.NewClient(c)
	if err != nil {
		return nil, nil, err
	}
	return consul.New(client, nil), func() error { c.Transport.CloseIdleConnections(); return nil }, nil
}

// openPostgres has the table created, as nobody else may be there to do it.
func openPostgres(addr string) (distlock.Backend, func() error, error) {
	if u, err := url.Parse(addr); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, nil, noURL("Postgres")
	}
	c, err := pgxpool.ParseConfig(addr)
	if err != nil || strings.Contains(c.ConnConfig.Host+c.ConnConfig.Database, "@") {
		return nil, nil, noURL("Postgres")
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		return nil, nil, err
	}
	return postgres.New(pool, &postgres.Options{CreateTable: true}), func() error { pool.Close(); return nil }, nil
}
