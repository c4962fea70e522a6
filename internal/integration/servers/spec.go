package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Spec says how to run one server. It is a value: the methods that alter it
// return a copy.
type Spec struct {
	// Name tells the server from others in messages.
	Name string
	// Image is where the server comes from.
	Image Image
	// Ports is how many ports the server needs; 0 means 1.
	Ports int
	// Command returns the container's command for the ports that were chosen.
	// It must bind the server to 127.0.0.1 (a member of an ensemble: to 0.0.0.0).
	Command func(ports []int) []string
	// Env is added to the container's environment.
	Env map[string]string
	// Files are put into the container before it starts for the first time, by
	// absolute path. May be nil.
	Files func(ports []int) map[string]string
	// Ready returns nil when the server at addr serves. It is polled, each time
	// with a short deadline.
	Ready func(ctx context.Context, addr string) error

	place place // set by an EnsembleSpec
	clock bool  // see WithClock
	inGo  bool  // written in Go: it reads the clock without the C library
	disk  int64 // see WithDisk
}

// Launch starts one server and waits until it serves. On failure nothing is left
// running. The caller closes the server.
func (s Spec) Launch(ctx context.Context) (*Server, error) {
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	image, err := s.Image.resolve(ctx)
	if err == nil && s.clock && !s.inGo {
		s, err = s.withLibrary()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	ports, err := reserve(max(s.Ports, 1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	v := &Server{spec: s, image: image, ports: ports}
	if err := v.StartEmpty(ctx); err != nil {
		_ = v.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return v, nil
}

// WithArgs returns a Spec whose command ends with args.
func (s Spec) WithArgs(args ...string) Spec {
	command := s.Command
	s.Command = func(ports []int) []string { return slices.Concat(command(ports), args) }
	return s
}

// named returns a Spec with another name.
func (s Spec) named(format string, args ...any) Spec {
	s.Name = fmt.Sprintf(format, args...)
	return s
}

// A Fleet is one server or several that run.
type Fleet interface {
	// Addrs returns the addresses that a client is configured with.
	Addrs() []string
	// Close removes all containers. It does so even if ctx has ended.
	Close(ctx context.Context) error
}

// A Plan is what can be started: a [Spec], or an arrangement of several servers.
// Launch leaves nothing running on failure; the caller closes the Fleet.
type Plan[F Fleet] interface {
	Launch(ctx context.Context) (F, error)
}

// An Entry is a fleet that commands know by name, and tests by an environment
// variable.
type Entry struct {
	Name   string
	Env    string
	Launch func(ctx context.Context) (Fleet, error)
	// Value is what Env is set to; nil means the addresses with commas between.
	Value func(addrs []string) string
}

// Setting returns NAME=VALUE for the environment of tests.
func (e Entry) Setting(f Fleet) string {
	value := strings.Join(f.Addrs(), ",")
	if e.Value != nil {
		value = e.Value(f.Addrs())
	}
	return e.Env + "=" + value
}

// Entries returns all entries, those of each service from the file about it.
func Entries() []Entry {
	return slices.Concat(redisEntries, etcdEntries, mariadbEntries, postgresEntries, zooKeeperEntries, consulEntries)
}

// launch makes an Entry's Launch of a plan.
func launch[F Fleet](p Plan[F]) func(context.Context) (Fleet, error) {
	return func(ctx context.Context) (Fleet, error) {
		f, err := p.Launch(ctx)
		if err != nil {
			return nil, err // not f: a nil pointer in an interface is not nil
		}
		return f, nil
	}
}
