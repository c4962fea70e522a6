package servers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// host is the only address that servers bind to.
const host = "127.0.0.1"

// configure tells testcontainers what it would otherwise guess, once and before
// its first use.
var configure = sync.OnceFunc(func() {
	// Its own reaper is an image from a registry. See doc.go for what takes its place.
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	if _, err := os.Stat("/.dockerenv"); err == nil {
		// In a container it takes the gateway's address for that of the engine's host.
		os.Setenv("TESTCONTAINERS_HOST_OVERRIDE", host)
	}
	tclog.SetDefault(tclog.NewNoopLogger())
})

// engine returns the client for the Docker engine, shared by the whole process.
var engine = sync.OnceValues(func() (*client.Client, error) {
	configure()
	c, err := testcontainers.NewDockerClientWithOpts(context.Background())
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	return c.Client, nil
})

// create starts a container for the server and returns its id. On failure there is
// no container. It goes on when ctx ends: the engine carries out a request whose
// sender has left, and then nobody would know of the container.
func create(ctx context.Context, s *Server) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit)
	defer cancel()
	ports := make([]int, len(s.ports))
	for i, p := range s.ports {
		ports[i] = p.number
	}
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{
			Image:        s.image,
			Cmd:          s.spec.Command(ports),
			Env:          s.spec.Env,
			Files:        files(s.spec, ports),
			Labels:       map[string]string{ownerLabel: self(), nameLabel: s.spec.Name},
			ExposedPorts: s.spec.place.exposed(ports),
			HostConfigModifier: func(h *container.HostConfig) {
				s.spec.place.attach(h, ports)
				s.spec.mount(h)
				s.spec.permit(h)
			},
		},
	})
	if err == nil {
		err = begin(ctx, s, c.GetContainerID())
	}
	if err != nil {
		_ = testcontainers.TerminateContainer(c) // nil is fine
		return "", err
	}
	return c.GetContainerID(), nil
}

// begin puts a container among its peers and starts it.
func begin(ctx context.Context, s *Server, id string) error {
	c, err := engine()
	if err == nil && !s.cut {
		err = s.spec.place.connect(ctx, c, id)
	}
	if err == nil {
		_, err = c.ContainerStart(ctx, id, client.ContainerStartOptions{})
	}
	return err
}

// files returns what to put into a container, readable and writable by whatever
// user the image's server runs as.
func files(s Spec, ports []int) []testcontainers.ContainerFile {
	if s.Files == nil {
		return nil
	}
	texts := s.Files(ports)
	var out []testcontainers.ContainerFile
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, testcontainers.ContainerFile{
			Reader: strings.NewReader(texts[path]), ContainerFilePath: path, FileMode: 0o666,
		})
	}
	return out
}

// removeContainer removes a container, running or paused or gone, and waits until it
// is gone even if somebody else is removing it too.
func removeContainer(ctx context.Context, c *client.Client, id string) error {
	for {
		_, err := c.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case !errdefs.IsConflict(err), !wait(ctx, pollInterval):
			return err
		}
	}
}
