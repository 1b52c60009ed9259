package servers

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Option varies the DSN of a test's database.
type Option func(params *[][2]string)

// Param adds a parameter of the driver or of the session, for example
// Param("clientFoundRows", "true") or Param("search_path", "other"). The value
// is plain text. A parameter that the DSN has already is replaced.
func Param(key, value string) Option {
	return func(params *[][2]string) { *params = append(*params, [2]string{key, value}) }
}

// With is a second DSN of the same database, varied.
func With(dsn string, opts ...Option) string {
	var params [][2]string
	for _, opt := range opts {
		opt(&params)
	}
	for _, p := range params {
		dsn = withParam(dsn, p[0], p[1])
	}
	return dsn
}

func withParam(dsn, key, value string) string {
	u, err := url.Parse(dsn)
	if !strings.Contains(dsn, "://") || err != nil { // of two in MySQL's form, the last counts
		sign := "?"
		if strings.Contains(dsn, "?") {
			sign = "&"
		}
		return dsn + sign + key + "=" + url.QueryEscape(value)
	}
	query := u.Query()
	query.Set(key, value)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20") // pgx takes a plus for a plus
	return u.String()
}

// URL is the DSN as Rowlock's command line takes it, with a scheme.
func URL(dsn string) string {
	config, err := mysql.ParseDSN(dsn)
	if strings.Contains(dsn, "://") || err != nil {
		return dsn
	}
	_, query, _ := strings.Cut(dsn, "?")
	u := url.URL{Scheme: "mysql", User: url.User(config.User), Host: config.Addr, Path: "/" + config.DBName, RawQuery: query}
	if config.Passwd != "" {
		u.User = url.UserPassword(config.User, config.Passwd)
	}
	return u.String()
}

// postgresDSN is dsn with another database, as are the two below.
func postgresDSN(t testing.TB, dsn, database string) string {
	t.Helper()
	u := parse(t, dsn, "postgres", "postgresql")
	u.Path = "/" + database
	return u.String()
}

func msSQLDSN(t testing.TB, dsn, database string) string {
	t.Helper()
	parse(t, dsn, "sqlserver")
	return withParam(dsn, "database", database)
}

func mySQLDSN(t testing.TB, dsn, database string) string {
	t.Helper()
	config, err := mysql.ParseDSN(driverDSN(dsn))
	if err != nil {
		t.Fatalf("the DSN of MySQL or MariaDB: %v", err)
	}
	config.DBName = database
	return config.FormatDSN()
}

// driverDSN is the DSN as database/sql takes it: a mysql:// or mariadb:// URL
// becomes the form of go-sql-driver/mysql, anything else is as it was.
func driverDSN(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return dsn
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	dsn = config.FormatDSN()
	for key, values := range u.Query() {
		dsn = withParam(dsn, key, values[0])
	}
	return dsn
}

// parse never shows the DSN, which may hold a password.
func parse(t testing.TB, dsn string, schemes ...string) *url.URL {
	t.Helper()
	u, err := url.Parse(dsn)
	for _, scheme := range schemes {
		if err == nil && u.Scheme == scheme {
			return u
		}
	}
	t.Fatalf("the DSN must be a URL that begins with %s://", schemes[0])
	return nil
}

// Around is the DSN of the same database as that of PgBouncer, without the pooler.
func Around(t testing.TB, pooled string) string {
	t.Helper()
	u, err := url.Parse(pooled)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.User = server.Host, server.User
	return u.String()
}
