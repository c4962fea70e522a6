package faults_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
)

// Each of these returns the version of the server at addr.

func etcdVersion(ctx context.Context, addr string) (string, error) {
	var v struct{ Etcdserver string }
	err := getJSON(ctx, "http://"+addr+"/version", &v)
	return v.Etcdserver, err
}

func consulVersion(ctx context.Context, addr string) (string, error) {
	var v struct{ Config struct{ Version string } }
	err := getJSON(ctx, "http://"+addr+"/v1/agent/self", &v)
	return v.Config.Version, err
}

func zooKeeperVersion(ctx context.Context, addr string) (string, error) {
	text, err := servers.ZooKeeperAsk(ctx, addr, "srvr")
	_, rest, _ := strings.Cut(text, "version: ")
	version, _, _ := strings.Cut(rest, "-")
	return version, err
}

func postgresVersion(ctx context.Context, addr string) (version string, err error) {
	conn, err := pgx.Connect(ctx, servers.PostgresURL(addr))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	return version, err
}

func redisVersion(ctx context.Context, addr string) (string, error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	defer rdb.Close()
	text, err := rdb.Info(ctx, "server").Result()
	_, rest, _ := strings.Cut(text, "redis_version:")
	version, _, _ := strings.Cut(rest, "\r")
	return version, err
}

func getJSON(ctx context.Context, url string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(v)
}
