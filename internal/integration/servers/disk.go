package servers

import (
	"context"
	"fmt"
	"io"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Disk is where a server that was started WithDisk has its small disk, and filler the
// file that takes its space.
const (
	Disk   = "/disk"
	filler = Disk + "/filler"
)

// WithDisk returns a Spec of a server that has a disk of its own of size bytes at [Disk],
// which everybody may write to and [Server.FillDisk] fills. It is in memory, so it is
// empty again whenever the server is started.
func (s Spec) WithDisk(size int64) Spec {
	s.disk = size
	return s
}

// mount gives the container its disk.
func (s Spec) mount(h *container.HostConfig) {
	if s.disk > 0 {
		h.Tmpfs = map[string]string{Disk: fmt.Sprintf("rw,mode=1777,size=%d", s.disk)}
	}
}

// FillDisk takes all the space that is left on a server's disk.
func (s *Server) FillDisk(ctx context.Context) error {
	if s.spec.disk == 0 {
		return fmt.Errorf("fill the disk of %s (%s): it was not started WithDisk", s.spec.Name, s.Addr())
	}
	// It ends by finding the disk full; the second call sees that it has.
	return s.run(ctx, "cat /dev/zero >"+filler+" 2>/dev/null; ! echo more >>"+filler+" 2>/dev/null")
}

// FreeDisk gives the space back that FillDisk has taken.
func (s *Server) FreeDisk(ctx context.Context) error { return s.run(ctx, "rm -f "+filler) }

// run runs a shell script in the container and fails if the script does.
func (s *Server) run(ctx context.Context, script string) error {
	return s.do(ctx, "run "+script+" in", func(c *client.Client) error {
		e, err := c.ExecCreate(ctx, s.id, client.ExecCreateOptions{
			User: "0", AttachStdout: true, AttachStderr: true, Cmd: []string{"sh", "-c", script},
		})
		if err != nil {
			return err
		}
		r, err := c.ExecAttach(ctx, e.ID, client.ExecAttachOptions{})
		if err != nil {
			return err
		}
		defer r.Close()
		defer context.AfterFunc(ctx, r.Close)()
		printed, err := io.ReadAll(r.Reader) // until it ends
		if err != nil {
			return err
		}
		if x, err := c.ExecInspect(ctx, e.ID, client.ExecInspectOptions{}); err != nil || x.ExitCode != 0 {
			return fmt.Errorf("status %d, %w: %q", x.ExitCode, err, printed)
		}
		return nil
	})
}
