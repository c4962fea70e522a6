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
	"slices"
	"strings"
	"syscall"
	"time"
)

// serverEnv names the Redis server, as for the tests.
const serverEnv = "DISTLOCK_TEST_REDIS"

func main() {
	crashIfTold()
	isQuick := flag.Bool("quick", false, "measure little, to see that everything works")
	only := flag.String("run", "", "run the scenarios that match this regular `expression`")
	note := flag.String("note", "", "a `text` to stand with the figures, such as what else the machine did")
	var f files
	flag.StringVar(&f.json, "json", "", "also write the figures to this `file`")
	flag.StringVar(&f.svg, "svg", "", "also draw the plots into this `file`")
	flag.StringVar(&f.doc, "doc", "", "also put the figures into this `file`, between its marks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := full
	if *isQuick {
		p = quick
	}
	p.note = *note
	if err := run(ctx, p, *only, f, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A scenario returns the lines of its figures; an error says that the run was not valid.
type scenario struct {
	name string
	env  string // names the server; "": runs on all that are there
	run  func(context.Context, plan) ([]line, error)
}

// scenarios in the order in which they run. Those whose server is not there are left out.
var scenarios = []scenario{
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
	{"peers", "", peers},
	{"fairness", "", fairness},
	{"take-over", "", takeOver},
	{"waiters", "", waiting},
	{"scale", "", scale},
}

// describers say which server is measured, by the variable that names it.
var describers = map[string]func(ctx context.Context, addr string) (string, error){
	serverEnv:    describeRedis,
	etcdEnv:      describeEtcd,
	zooKeeperEnv: describeZooKeeper,
	consulEnv:    describeConsul,
	postgresEnv:  describePG,
}

// chosen are the scenarios that match only and whose server is there.
func chosen(only string) (all []scenario, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, s := range scenarios {
		if (s.env == "" || os.Getenv(s.env) != "") && match.MatchString(s.name) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		err = errors.New("no server to measure, or no such scenario (make bench starts servers)")
	}
	return all, err
}

// about says when and on what those are measured, and with which peers.
func about(ctx context.Context, p plan, chosen []scenario) ([]string, error) {
	var parts []string
	everywhere := slices.ContainsFunc(chosen, func(s scenario) bool { return s.env == "" })
	for _, env := range []string{serverEnv, etcdEnv, zooKeeperEnv, consulEnv, postgresEnv} {
		addr := os.Getenv(env)
		if addr == "" || !everywhere && !slices.ContainsFunc(chosen, func(s scenario) bool { return s.env == env }) {
			continue
		}
		text, err := describers[env](ctx, addr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", env, err)
		}
		parts = append(parts, text)
	}
	parts = append(parts, machine())
	lines := []string{today() + ", " + strings.Join(parts, ", ")}
	if p.note != "" {
		lines[0] += ". " + p.note
	}
	for _, r := range rivals {
		if everywhere && !r.ours() && os.Getenv(envOf(r.service)) != "" {
			lines = append(lines, r.about())
		}
	}
	return lines, nil
}

// run measures, and prints the table on out.
func run(ctx context.Context, p plan, only string, f files, out io.Writer) error {
	chosen, err := chosen(only)
	if err != nil {
		return err
	}
	defer stopNodes()
	var r result
	if r.about, err = about(ctx, p, chosen); err != nil {
		return err
	}
	var invalid []error
	for _, s := range chosen {
		begun := time.Now()
		got, err := s.run(ctx, p.at(os.Getenv(s.env)))
		if err != nil {
			err = fmt.Errorf("%s: %w", s.name, err)
			if ctx.Err() != nil {
				return err
			}
			invalid = append(invalid, err)
			r.about = append(r.about, fmt.Sprintf("Left out, as the run was not valid: %v", err))
			continue // the others are worth their time
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %.1f s\n", s.name, time.Since(begun).Seconds())
		for i := range got {
			got[i].Scenario = s.name
			if got[i].Lock == "" {
				got[i].Lock = ourName
			}
		}
		r.lines = append(r.lines, got...)
	}
	fmt.Fprint(out, r.markdown())
	if f.doc != "" {
		invalid = append(invalid, r.keep(f.json, chosen))
	}
	return errors.Join(append(invalid, r.write(f))...)
}
