package servers_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestServerReadsWhatIsWrittenIntoItsContainer(t *testing.T) {
	t.Parallel()
	const file = "/etc/distlock/made/users.acl"
	spec := servers.Redis.WithArgs("--aclfile", file)
	spec.Files = func([]int) map[string]string { return map[string]string{file: "user default on nopass ~* &* +@all\n"} }
	s := servers.Start(t, spec)
	write := func(user string) {
		t.Helper()
		text := "user default on nopass ~* &* +@all\nuser " + user + " on nopass ~* +@all\n"
		if err := s.Write(t.Context(), file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(user string) {
		t.Helper()
		if got := redis(t, s.Addr(), "ACL LOAD"); got != "+OK" {
			t.Fatalf("ACL LOAD: got %q", got)
		}
		if got := redis(t, s.Addr(), "ACL DRYRUN "+user+" GET k"); got != "+OK" {
			t.Errorf("user %s: got %q, want +OK", user, got)
		}
	}
	write("first")
	check("first")
	write("second") // over a file that is there, and shorter or longer
	check("second")
	servers.Do(t, s.Pause)
	write("paused")
	servers.Do(t, s.Resume)
	check("paused")
	servers.Do(t, s.Kill)
	write("stopped")
	servers.Do(t, s.Start)
	check("stopped")
}

func TestWriteSaysWhatWasWrong(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	err := s.Write(t.Context(), "etc/relative", nil)
	if err == nil || !strings.Contains(err.Error(), "etc/relative") || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("got %v, want an error with the path and what is wrong with it", err)
	}
	if err := s.Write(t.Context(), "/etc/passwd/x", nil); err == nil {
		t.Error("got nil for a path below a file")
	}
}
