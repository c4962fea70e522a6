package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/moby/moby/client"
)

// startLimit bounds the time from a container's start until its server serves.
const startLimit = 3 * time.Minute

// pollInterval is the pause between two looks at a condition.
const pollInterval = 10 * time.Millisecond

// A Server is one server in a container. Its methods may be called concurrently
// and run one after the other.
type Server struct {
	spec  Spec
	image string
	ports []port

	mu  sync.Mutex // serializes changes of the container and guards the rest
	id  string     // the container, "" if there is none
	cut bool       // whether its place among its peers is left empty
}

// Addr returns the server's address, HOST:PORT. It is the same as long as the
// Server exists, running or not.
func (s *Server) Addr() string { return s.addr(0) }

// Addrs returns Addr alone.
func (s *Server) Addrs() []string { return []string{s.Addr()} }

// Name returns the name of the Spec.
func (s *Server) Name() string { return s.spec.Name }

// addr returns the address of the i-th port.
func (s *Server) addr(i int) string { return net.JoinHostPort(host, s.port(i)) }

// port returns the number of the i-th port.
func (s *Server) port(i int) string { return strconv.Itoa(s.ports[i].number) }

// Stop lets the server end in good order (SIGTERM), and waits for it. After ten
// seconds the server is killed. What it has on disk stays.
func (s *Server) Stop(ctx context.Context) error {
	grace := 10
	return s.do(ctx, "stop", func(c *client.Client) error {
		_, err := c.ContainerStop(ctx, s.id, client.ContainerStopOptions{Timeout: &grace})
		return err
	})
}

// Kill ends the server at once (SIGKILL), and waits for it. What it has on disk
// stays. Connections are reset. A paused server executes nothing more.
func (s *Server) Kill(ctx context.Context) error {
	return s.do(ctx, "kill", func(c *client.Client) error {
		_, err := c.ContainerKill(ctx, s.id, client.ContainerKillOptions{})
		return err
	})
}

// Start starts a server again that was stopped or killed, with what it has on
// disk, and waits until it serves. A server that keeps its data in memory only
// comes back empty.
func (s *Server) Start(ctx context.Context) error {
	return s.do(ctx, "start", func(c *client.Client) error {
		if _, err := c.ContainerStart(ctx, s.id, client.ContainerStartOptions{}); err != nil {
			return err
		}
		return s.awaitReady(ctx, c)
	})
}

// StartEmpty starts the server without what it had on disk, as a new machine at
// the old one's address, and waits until it serves. A server that still runs is
// killed.
func (s *Server) StartEmpty(ctx context.Context) error {
	return s.do(ctx, "start", func(c *client.Client) error {
		if err := s.remove(ctx, c); err != nil {
			return err
		}
		var err error
		if s.id, err = create(ctx, s); err != nil {
			return err
		}
		return s.awaitReady(ctx, c)
	})
}

// Pause freezes all processes of the server. Its kernel still accepts connections
// and takes data, which the server finds when it is resumed.
func (s *Server) Pause(ctx context.Context) error {
	return s.do(ctx, "pause", func(c *client.Client) error {
		_, err := c.ContainerPause(ctx, s.id, client.ContainerPauseOptions{})
		return err
	})
}

// Resume ends a Pause. The server's clock has gone on meanwhile.
func (s *Server) Resume(ctx context.Context) error {
	return s.do(ctx, "resume", func(c *client.Client) error {
		_, err := c.ContainerUnpause(ctx, s.id, client.ContainerUnpauseOptions{})
		return err
	})
}

// Signal sends a signal, such as "SIGSTOP", to the server's first process, and does
// not wait for what it does. Unlike Pause, SIGSTOP leaves child processes running.
func (s *Server) Signal(ctx context.Context, name string) error {
	return s.do(ctx, "signal", func(c *client.Client) error {
		_, err := c.ContainerKill(ctx, s.id, client.ContainerKillOptions{Signal: name})
		return err
	})
}

// Close removes the container, whatever it does, and gives its ports back. It does
// so even if ctx has ended. A second Close does nothing.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit)
	defer cancel()
	return s.do(ctx, "remove", func(c *client.Client) error {
		if err := s.remove(ctx, c); err != nil {
			return err
		}
		for _, p := range s.ports {
			p.release()
		}
		return nil
	})
}

// do runs one change of the container and says of errors whose they are.
func (s *Server) do(ctx context.Context, what string, change func(*client.Client) error) error {
	c, err := engine()
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		err = change(c)
	}
	if err != nil {
		return fmt.Errorf("%s %s (%s): %w", what, s.spec.Name, s.Addr(), err)
	}
	return nil
}

// remove removes the container if there is one. The caller holds mu.
func (s *Server) remove(ctx context.Context, c *client.Client) error {
	if s.id == "" {
		return nil
	}
	if err := removeContainer(ctx, c, s.id); err != nil {
		return err
	}
	s.id = ""
	return nil
}

// awaitReady polls until the server serves. It fails when the container ends, when
// ctx does, or after startLimit. The caller holds mu.
func (s *Server) awaitReady(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	for n := 0; ; n++ {
		err := attempt(ctx, s.spec.Ready, s.Addr())
		if err == nil {
			return nil
		}
		if n%20 == 19 {
			if r, ierr := c.ContainerInspect(ctx, s.id, client.ContainerInspectOptions{}); ierr == nil && !r.Container.State.Running {
				log, _ := s.logs(ctx, c, 20)
				return fmt.Errorf("it ended with status %d:\n%s", r.Container.State.ExitCode, log)
			}
		}
		if !wait(ctx, pollInterval) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// attempt calls ready with a deadline of its own.
func attempt(ctx context.Context, ready func(context.Context, string) error, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return ready(ctx, addr)
}

// wait sleeps for d and returns true, or false as soon as ctx ends.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
