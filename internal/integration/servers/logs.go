package servers

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/moby/moby/client"
)

// Logs returns the last lines that the server printed.
func (s *Server) Logs(ctx context.Context, lines int) (text string, err error) {
	err = s.do(ctx, "logs", func(c *client.Client) error {
		text, err = s.logs(ctx, c, lines)
		return err
	})
	return text, err
}

// logs returns the container's last lines. The caller holds mu.
func (s *Server) logs(ctx context.Context, c *client.Client, lines int) (string, error) {
	r, err := c.ContainerLogs(ctx, s.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(lines),
	})
	if err != nil {
		return "", err
	}
	defer r.Close()
	var text strings.Builder
	err = demultiplex(&text, r)
	return text.String(), err
}

// demultiplex copies the payload of the engine's log frames, each with a header
// of eight bytes of which the last four are its length.
func demultiplex(w io.Writer, r io.Reader) error {
	var header [8]byte
	for {
		if _, err := io.ReadFull(r, header[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n := int64(header[4])<<24 | int64(header[5])<<16 | int64(header[6])<<8 | int64(header[7])
		if _, err := io.CopyN(w, r, n); err != nil {
			return err
		}
	}
}
