package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// MariaDB has a database "distlock", and a user root with password "distlock". It
// comes back with its data when started again.
var MariaDB = Spec{
	Name:  "mariadb:11",
	Image: Image{Local: "mariadb:11", Official: "mariadb:11.8"},
	Env:   map[string]string{"MARIADB_ROOT_PASSWORD": "distlock", "MARIADB_DATABASE": "distlock"},
	Command: func(ports []int) []string {
		return []string{
			"mariadbd", "--port=" + strconv.Itoa(ports[0]), "--bind-address=" + host, "--skip-name-resolve",
			"--innodb-buffer-pool-size=64M",
		}
	},
	Ready: mariadbReady,
}

// mariadbEntries are set to a data source name of go-sql-driver/mysql.
var mariadbEntries = []Entry{{
	Name: "mariadb", Env: "DISTLOCK_TEST_MARIADB", Launch: launch[*Server](MariaDB),
	Value: func(addrs []string) string { return fmt.Sprintf("root:distlock@tcp(%s)/distlock", addrs[0]) },
}}

// mariadbReady reads the greeting, which a server sends once it lets clients in.
func mariadbReady(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var packet [5]byte // length and number, then the version of the protocol
	if _, err := io.ReadFull(conn, packet[:]); err != nil {
		return err
	}
	if packet[4] != 10 {
		return errors.New("no greeting")
	}
	return nil
}
