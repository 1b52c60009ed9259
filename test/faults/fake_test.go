package faults_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/test/faults"
)

// tape is a driver that writes down what reaches it. With skip it wants every
// statement prepared, as some drivers do for statements with arguments.
type tape struct {
	calls   []string
	skip    bool
	checked int
	resets  int
	pings   int
	closed  int
}

func (d *tape) say(call string) { d.calls = append(d.calls, call) }

func (d *tape) Connect(context.Context) (driver.Conn, error) { return &tapeConn{d}, nil }
func (d *tape) Driver() driver.Driver                        { return d }
func (d *tape) Open(string) (driver.Conn, error)             { return &tapeConn{d}, nil }

type tapeConn struct{ *tape }

func (c *tapeConn) Prepare(q string) (driver.Stmt, error) {
	c.say("prepare " + q)
	return &tapeStmt{c.tape, q}, nil
}
func (c *tapeConn) Close() error                             { c.closed++; return nil }
func (c *tapeConn) Begin() (driver.Tx, error)                { c.say("begin"); return tapeTx{c.tape}, nil }
func (c *tapeConn) Ping(context.Context) error               { c.pings++; return nil }
func (c *tapeConn) ResetSession(context.Context) error       { c.resets++; return nil }
func (c *tapeConn) CheckNamedValue(*driver.NamedValue) error { c.checked++; return nil }
func (c *tapeConn) ExecContext(_ context.Context, q string, _ []driver.NamedValue) (driver.Result, error) {
	if c.skip {
		return nil, driver.ErrSkip
	}
	c.say("exec " + q)
	return driver.RowsAffected(1), nil
}

func (c *tapeConn) QueryContext(_ context.Context, q string, _ []driver.NamedValue) (driver.Rows, error) {
	if c.skip {
		return nil, driver.ErrSkip
	}
	c.say("query " + q)
	return tapeRows{c.tape}, nil
}

type tapeStmt struct {
	*tape
	query string
}

func (s *tapeStmt) Close() error  { s.say("close stmt"); return nil }
func (s *tapeStmt) NumInput() int { return -1 }
func (s *tapeStmt) Exec(v []driver.Value) (driver.Result, error) {
	s.say(fmt.Sprint("run ", s.query, v))
	return driver.RowsAffected(1), nil
}

func (s *tapeStmt) Query(v []driver.Value) (driver.Rows, error) {
	s.say(fmt.Sprint("ask ", s.query, v))
	return tapeRows{s.tape}, nil
}

type tapeTx struct{ *tape }

func (t tapeTx) Commit() error   { t.say("commit"); return nil }
func (t tapeTx) Rollback() error { t.say("rollback"); return nil }

type tapeRows struct{ *tape }

func (tapeRows) Columns() []string         { return []string{"c"} }
func (r tapeRows) Close() error            { r.say("close rows"); return nil }
func (tapeRows) Next([]driver.Value) error { return io.EOF }

func openTape(t *testing.T, d *tape) (*sql.DB, *faults.Plan) {
	t.Helper()
	plan := faults.NewPlan()
	db := sql.OpenDB(faults.Wrap(d, plan))
	t.Cleanup(func() { _ = db.Close() })
	return db, plan
}

// use sends one of everything and gives the first error.
func use(db *sql.DB) error {
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "E", 1); err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, "Q", 2)
	if err != nil {
		return err
	}
	if err := errors.Join(rows.Close(), rows.Err()); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "T", 3); err != nil {
		return err
	}
	return tx.Commit()
}

func TestStepsAreCountedAndForwarded(t *testing.T) {
	cases := map[string]struct {
		skip  bool
		steps []string
		calls []string
	}{
		"direct": {
			false,
			[]string{"E", "Q", "BEGIN", "T", "COMMIT"},
			[]string{"exec E", "query Q", "close rows", "begin", "exec T", "commit"},
		},
		"by way of prepare": {
			true,
			[]string{"E", "E", "Q", "Q", "BEGIN", "T", "T", "COMMIT"},
			[]string{
				"prepare E", "run E[1]", "close stmt", "prepare Q", "ask Q[2]", "close rows", "close stmt",
				"begin", "prepare T", "run T[3]", "close stmt", "commit",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := &tape{skip: c.skip}
			db, plan := openTape(t, d)
			if err := use(db); err != nil {
				t.Fatal(err)
			}
			if got := plan.Statements(); !slices.Equal(got, c.steps) || plan.Count() != len(c.steps) {
				t.Errorf("%d steps: %q", plan.Count(), got)
			}
			if !slices.Equal(d.calls, c.calls) {
				t.Errorf("the driver saw %q", d.calls)
			}
			if err := db.Ping(); err != nil || d.pings != 1 || d.resets == 0 || d.checked < 3 {
				t.Errorf("%v; %d pings, %d resets, %d values checked", err, d.pings, d.resets, d.checked)
			}
			plan.Reset()
			if plan.Count() != 0 || len(plan.Statements()) != 0 {
				t.Error("a reset plan still counts")
			}
		})
	}
}

func TestRawReachesTheDriversConnection(t *testing.T) {
	db, _ := openTape(t, &tape{})
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(dc any) error {
		if _, ok := dc.(interface{ Unwrap() driver.Conn }).Unwrap().(*tapeConn); !ok {
			return fmt.Errorf("got %T", dc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStrikes walks every step, both sides and every way, and looks at what
// reached the driver.
func TestStrikes(t *testing.T) {
	mine := errors.New("mine")
	ways := map[string]struct {
		action faults.Action
		err    error
	}{
		"fail": {faults.Fail(mine), mine}, "cut": {faults.Cut(), faults.ErrCut}, "kill": {faults.Kill(), faults.ErrKilled},
	}
	calls := []string{"exec E", "query Q", "begin", "exec T", "commit"}
	for n, call := range calls {
		for _, when := range []faults.When{faults.Before, faults.After} {
			for name, way := range ways {
				t.Run(fmt.Sprint(name, " ", when, " ", call), func(t *testing.T) {
					d := &tape{}
					db, plan := openTape(t, d)
					plan.At(n+1, when, way.action)
					if err := use(db); !errors.Is(err, way.err) {
						t.Fatalf("got %v", err)
					}
					if plan.Pending() != 0 {
						t.Fatal("the fault did not strike")
					}
					if reached := slices.Contains(d.calls, call); reached != (when == faults.After) {
						t.Fatalf("the driver saw %q", d.calls)
					}
					count := func(s string) (n int) {
						for _, c := range d.calls {
							if c == s {
								n++
							}
						}
						return n
					}
					if count("query Q") != count("close rows") || count("begin") > count("commit")+count("rollback") {
						t.Fatalf("something was left open: %q", d.calls)
					}
					plan.Revive()
					if err := use(db); err != nil {
						t.Fatalf("afterwards: %v", err)
					}
					if broke := name != "fail"; broke != (d.closed == 1) {
						t.Fatalf("%d connections were closed", d.closed)
					}
				})
			}
		}
	}
}

func TestBadConnIsNeverInjectedAfterAStatement(t *testing.T) {
	d := &tape{}
	db, plan := openTape(t, d)
	plan.At(1, faults.After, faults.Fail(fmt.Errorf("wrapped: %w", driver.ErrBadConn)))
	if _, err := db.ExecContext(t.Context(), "E"); !errors.Is(err, faults.ErrCut) {
		t.Fatal(err)
	}
	if len(d.calls) != 1 {
		t.Fatalf("it ran again: %q", d.calls)
	}
}

func TestDoLetsAnotherActIn(t *testing.T) {
	d := &tape{}
	db, plan := openTape(t, d)
	plan.At(1, faults.Before, faults.Do(func() { d.say("other, before") }))
	plan.At(1, faults.After, faults.Do(func() { d.say("other, after") }))
	if _, err := db.ExecContext(t.Context(), "E"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.calls, []string{"other, before", "exec E", "other, after"}) {
		t.Fatalf("%q", d.calls)
	}
}

func TestKilledMeansEveryConnection(t *testing.T) {
	d := &tape{}
	db, plan := openTape(t, d)
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan.At(1, faults.Before, faults.Kill())
	for range 2 { // the step itself, then a new connection
		if _, err := db.ExecContext(t.Context(), "E"); !errors.Is(err, faults.ErrKilled) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	if err := db.PingContext(t.Context()); !errors.Is(err, faults.ErrKilled) {
		t.Fatal(err)
	}
	plan.Revive()
	if _, err := other.ExecContext(t.Context(), "E"); !errors.Is(err, driver.ErrBadConn) {
		t.Fatal("a connection outlived the kill:", err)
	}
	_ = other.Close()
	if len(d.calls) != 0 || d.closed != 2 {
		t.Fatalf("the driver saw %q and %d closes", d.calls, d.closed)
	}
	if err := use(db); err != nil {
		t.Fatal(err)
	}
}
