package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// poolSize is the same on both sides.
const poolSize = 20

// A process stands for one: a lock client on connections of its own.
type process struct {
	rdb  *goredis.Client
	lock *distlock.Client
}

// newProcess connects to addr. Close it.
func newProcess(addr string, opts ...distlock.Option) (*process, error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: poolSize})
	lock, err := distlock.New(redislock.New(rdb, nil), opts...)
	if err != nil {
		rdb.Close()
		return nil, err
	}
	return &process{rdb: rdb, lock: lock}, nil
}

func (p *process) close() error {
	err := p.lock.Close(context.Background())
	p.rdb.Close()
	return err
}

// machine says on what all is measured.
func machine() string {
	return fmt.Sprintf("%s, %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// describeRedis says which server is at addr.
func describeRedis(ctx context.Context, addr string) (string, error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	defer rdb.Close()
	info, err := infoLines(ctx, rdb, "server")
	return "Redis " + info["redis_version"], err
}

// infoLines reads a section of INFO.
func infoLines(ctx context.Context, rdb *goredis.Client, section string) (map[string]string, error) {
	text, err := rdb.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string)
	for l := range strings.Lines(text) {
		if name, v, ok := strings.Cut(strings.TrimSpace(l), ":"); ok {
			fields[name] = v
		}
	}
	return fields, nil
}

// commands is how often the server has executed what, scripts' calls included.
type commands map[string]int

// executed reads what the server has executed until now.
func executed(ctx context.Context, rdb *goredis.Client) (commands, error) {
	fields, err := infoLines(ctx, rdb, "commandstats")
	if err != nil {
		return nil, err
	}
	c := make(commands)
	for name, v := range fields {
		name = strings.TrimPrefix(name, "cmdstat_")
		calls, _, _ := strings.Cut(strings.TrimPrefix(v, "calls="), ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			return nil, fmt.Errorf("INFO commandstats: %s: %w", name, err)
		}
		if name != "info" {
			c[name] = n
		}
	}
	return c, nil
}

// since adds to sum what was executed after before.
func (c commands) since(before, sum commands) {
	for name, n := range c {
		if n > before[name] {
			sum[name] += n - before[name]
		}
	}
}

// total counts all.
func (c commands) total() (n int) {
	for _, v := range c {
		n += v
	}
	return n
}

// byScripts are the commands that the lock scripts alone call.
var byScripts = []string{"get", "set", "pttl", "time", "delex", "publish"}

// sent counts what clients of the library sent.
func (c commands) sent() int {
	n := c.total()
	for _, name := range byScripts {
		n -= c[name]
	}
	return n
}
