package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

// serverEnv names the server, as for the tests.
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

// scenarios in the order in which they run. Each returns the lines of its figures; an
// error says that the run was not valid.
var scenarios = []struct {
	name string
	env  string // names its server; none: it needs none
	run  func(context.Context, plan) ([]line, error)
}{
	{"alone", serverEnv, alone},
	{"busy", serverEnv, busy},
	{"hand-over", serverEnv, handOver},
	{"held", serverEnv, held},
	{"core", "", core},
	{"consul", consulEnv, consul},
}

// abouts say on what is measured, by the server's variable.
var abouts = map[string]func(ctx context.Context, addr string) (string, error){
	serverEnv: describe,
	consulEnv: describeConsul,
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
	p.addr = os.Getenv(serverEnv)
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
	for _, s := range scenarios {
		if !match.MatchString(s.name) {
			continue
		}
		if about, err = describeOnce(ctx, about, s.env); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
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
	heading := strings.Join(about, "; ")
	fmt.Fprintf(out, "%s\n\n", heading)
	printTable(out, lines)
	if file != "" {
		return writeJSON(file, heading, lines)
	}
	return nil
}

// describeOnce adds to about what there is to say of the server that env names.
func describeOnce(ctx context.Context, about []string, env string) ([]string, error) {
	if env == "" {
		return about, nil
	}
	addr := os.Getenv(env)
	if addr == "" {
		return nil, fmt.Errorf("%s is not set: no server to measure (make bench starts one)", env)
	}
	text, err := abouts[env](ctx, addr)
	if err != nil || slices.Contains(about, text) {
		return about, err
	}
	return append(about, text), nil
}
