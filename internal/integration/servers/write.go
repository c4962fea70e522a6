package servers

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/moby/moby/client"
)

// Write puts a file into the container, readable and writable by everybody, over the
// one that may be there; name is absolute, and folders on the way are made. The server
// may run, be paused or be stopped. It is not atomic: for a moment a reader may find no
// file, or only the beginning of it. The file stays until the container goes, that is
// until StartEmpty or Close.
func (s *Server) Write(ctx context.Context, name string, content []byte) error {
	return s.do(ctx, "write "+name+" into", func(c *client.Client) error {
		if !path.IsAbs(name) {
			return fmt.Errorf("not an absolute path")
		}
		archive, err := archiveOf(strings.TrimPrefix(path.Clean(name), "/"), content)
		if err != nil {
			return err
		}
		_, err = c.CopyToContainer(ctx, s.id, client.CopyToContainerOptions{DestinationPath: "/", Content: archive})
		return err
	})
}

// archiveOf returns a tar archive with one file.
func archiveOf(name string, content []byte) (*bytes.Buffer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o666, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return &b, w.Close()
}
