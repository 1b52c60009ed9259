package mysqlstore

import (
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/domain"
)

// parseDSN reads both forms of a DSN. A URL's parameters are those of the driver;
// socket=PATH connects to a socket.
func parseDSN(dsn string) (*mysql.Config, error) {
	scheme, _, isURL := strings.Cut(dsn, "://")
	if !isURL || (scheme != "mysql" && scheme != "mariadb") {
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, badDSN(err)
		}
		return cfg, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, badDSN(err)
	}
	params := u.Query()
	address := "tcp(" + u.Host + ")"
	if socket := params.Get("socket"); socket != "" {
		address = "unix(" + socket + ")"
		params.Del("socket")
	}
	if u.Host == "" && address == "tcp()" {
		address = "" // the driver's default
	}
	cfg, err := mysql.ParseDSN(address + "/?" + params.Encode())
	if err != nil {
		return nil, badDSN(err)
	}
	cfg.User, cfg.DBName = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	cfg.Passwd, _ = u.User.Password()
	return cfg, nil
}

// badDSN keeps the cause unseen: its text may show parts of the DSN.
func badDSN(err error) error {
	return &domain.Fault{Code: domain.Invalid, Op: "open mysql", Hint: "the DSN cannot be read: use mysql://user:password@host:3306/database", Err: err}
}
