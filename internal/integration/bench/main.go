package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

// serverEnv names the Redis server, as for the tests.
const serverEnv = "DISTLOCK_TEST_REDIS"

// A plan is how much is measured.
type plan struct {
	addr    string
	pairs   int           // of slices
	slice   time.Duration // length of one
	keys    int           // of busy
	leases  int           // of held
	ttl     time.Duration // of held
	passes  int           // of held
	waiters []int         // of hand-over
	turns   int           // of each of the 8 processes in one round
}

var (
	full = plan{
		pairs: 24, slice: 300 * time.Millisecond, keys: 10000,
		leases: 10000, ttl: 6 * time.Second, passes: 2,
		waiters: []int{1, 8, 32}, turns: 5,
	}
	quick = plan{
		pairs: 2, slice: 150 * time.Millisecond, keys: 200,
		leases: 300, ttl: 3 * time.Second, passes: 1,
		waiters: []int{1, 8}, turns: 2,
	}
)

// describers say which server is measured, by the variable that names it.
var describers = map[string]func(ctx context.Context, addr string) (string, error){
	serverEnv:    describeRedis,
	etcdEnv:      describeEtcd,
	zooKeeperEnv: describeZooKeeper,
	consulEnv:    describeConsul,
	postgresEnv:  describePG,
}

// scenarios in the order in which they run. Each returns the lines of its figures; an
// error says that the run was not valid. Those whose server is not there are left out.
var scenarios = []struct {
	name string
	env  string // names the server
	run  func(context.Context, plan) ([]line, error)
}{
	{"alone", serverEnv, alone},
	{"busy", serverEnv, busy},
	{"hand-over", serverEnv, handOver},
	{"held", serverEnv, held},
	{"core", serverEnv, core},
	{"redlock", serverEnv, overNodes}, // on servers of its own
	{"etcd", etcdEnv, onEtcd},
	{"zookeeper", zooKeeperEnv, zooKeeper},
	{"consul", consulEnv, consul},
	{"postgres alone", postgresEnv, postgresAlone},
	{"postgres busy", postgresEnv, postgresBusy},
	{"postgres hand-over", postgresEnv, postgresHandOver},
}

func main() {
	isQuick := flag.Bool("quick", false, "measure little, to see that everything works")
	only := flag.String("run", "", "run the scenarios that match this regular `expression`")
	file := flag.String("json", "", "also write the figures to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := full
	if *isQuick {
		p = quick
	}
	if err := run(ctx, p, *only, *file, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures, and prints the table on out.
func run(ctx context.Context, p plan, only, file string, out io.Writer) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var lines []line
	var about []string
	described := make(map[string]bool)
	for _, s := range scenarios {
		if p.addr = os.Getenv(s.env); p.addr == "" || !match.MatchString(s.name) {
			continue
		}
		if !described[s.env] {
			text, err := describers[s.env](ctx, p.addr)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			about, described[s.env] = append(about, text), true
		}
		got, err := s.run(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for i := range got {
			got[i].Scenario = s.name
		}
		lines = append(lines, got...)
	}
	if len(about) == 0 {
		return errors.New("no server to measure, or no such scenario (make bench starts servers)")
	}
	heading := strings.Join(append(about, machine()), ", ")
	fmt.Fprintf(out, "%s\n\n", heading)
	printTable(out, lines)
	if file != "" {
		return writeJSON(file, heading, lines)
	}
	return nil
}
