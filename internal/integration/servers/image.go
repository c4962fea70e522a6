package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/containerd/errdefs"
)

// An Image names the same software in two places.
type Image struct {
	// Local is the NAME:TAG that images/build.sh knows.
	Local string
	// Official is the name on the registry that the engine asks by default, or
	// empty where there is no official image: then the local one is built.
	Official string
}

const (
	// localPrefix is what images/build.sh puts before NAME:TAG.
	localPrefix = "distlock-test/"
	// noPull is set, for this process and the ones it starts, once a registry has
	// not answered.
	noPull = "DISTLOCK_TEST_NO_PULL"

	answerLimit = 10 * time.Second // until the registry says something
	pullLimit   = 5 * time.Minute  // until all is there
)

// resolving lets one image at a time be looked for, so that the first failure to
// reach a registry is the only one.
var resolving sync.Mutex

// resolve returns the name of an image that the engine has: the local one if it is
// built, else the official one if it is there or can be pulled, else the local one,
// which it builds. Building takes up to a few minutes.
func (i Image) resolve(ctx context.Context) (string, error) {
	resolving.Lock()
	defer resolving.Unlock()
	local := localPrefix + i.Local
	for _, name := range []string{local, i.Official} {
		if name == "" {
			continue
		}
		if ok, err := present(ctx, name); ok || err != nil {
			return name, err
		}
	}
	if i.Official != "" && os.Getenv(noPull) == "" {
		err := pull(ctx, i.Official)
		if err == nil || ctx.Err() != nil {
			return i.Official, err
		}
		os.Setenv(noPull, "1")
	}
	return local, build(ctx, i.Local)
}

// present says whether the engine has the image.
func present(ctx context.Context, name string) (bool, error) {
	c, err := engine()
	if err != nil {
		return false, err
	}
	_, err = c.ImageInspect(ctx, name)
	switch {
	case errdefs.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("docker: %w", err)
	}
	return true, nil
}

// pull gets an image with the docker command, which knows the user's registry
// settings. It gives up early if nothing answers.
func pull(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", "pull", name)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	silent := time.AfterFunc(answerLimit, cancel)
	if _, err := bufio.NewReader(out).ReadByte(); err == nil {
		silent.Stop()
	}
	_, err = io.Copy(io.Discard, out)
	return errors.Join(err, cmd.Wait())
}

// build runs images/build.sh, whose output goes to standard error.
func build(ctx context.Context, image string) error {
	_, file, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(file), "..", "images", "build.sh")
	cmd := exec.CommandContext(ctx, script, image)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build image %s: %w", image, err)
	}
	return nil
}
