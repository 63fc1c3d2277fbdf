package catalog

import (
	"context"
	"strings"

	"github.com/snowkey-go/snowkey/internal/table"
)

// mysqlSource reads the information_schema of MySQL and MariaDB, which shows what the user has some right on.
type mysqlSource struct{ table.MySQL }

func (s mysqlSource) server(ctx context.Context) (Server, error) {
	found := Server{Kind: "mysql"}
	var version, comment string
	err := s.Each(ctx, "SELECT VERSION(), @@version_comment, COALESCE(DATABASE(), '')", nil, []any{&version, &comment, &found.Name}, nil)
	if err != nil {
		return Server{}, err
	}
	number, rest, _ := strings.Cut(version, "-")
	found.Version = "MySQL " + number
	if strings.Contains(rest, "MariaDB") || strings.Contains(comment, "MariaDB") || strings.Contains(strings.ToLower(comment), "mariadb") {
		found.Version = "MariaDB " + number
	}
	set := map[string]string{}
	var name, value string
	err = s.Each(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'hostname', 'port', 'datadir')", nil, []any{&name, &value}, func() error {
		set[strings.ToLower(name)] = value
		return nil
	})
	switch {
	case set["server_uuid"] != "":
		found.ID = set["server_uuid"]
	case set["server_uid"] != "":
		found.ID = set["server_uid"] + ":" + set["datadir"] // of the network card and the port, which servers without one have the same
	default: // MariaDB before 10.5.26, 10.6.19 and 10.11.9
		found.ID = set["hostname"] + ":" + set["port"] + ":" + set["datadir"]
	}
	return found, err
}

func (s mysqlSource) list(ctx context.Context) ([]Name, error) {
	return s.Names(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1")
}

func (s mysqlSource) described(ctx context.Context, names []Name) ([]*Table, error) {
	return load(ctx, s, names)
}
