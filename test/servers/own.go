package servers

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Server is a server that a test has for itself, to do with it what nobody may do
// with one that others use.
type Server struct {
	DSN string // of its own database, in the form of a URL; its user may do everything

	t    testing.TB
	name string
	dir  string
	addr string
	cmd  *exec.Cmd // how it was started, before it is started again
}

// startTime bounds a start and a stop.
const startTime = time.Minute

// Own starts a server (postgres, mysql, mariadb or mongo) by the script `up`, where
// the environment has one of its sort; it is gone with the test.
func Own(t testing.TB, name string) *Server {
	t.Helper()
	lookup(t, name)
	folder := scripts(t)
	up := exec.CommandContext(t.Context(), filepath.Join(folder, "up"), name)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROWLOCK_") || !strings.Contains(v, "_DSN=") {
			up.Env = append(up.Env, v)
		}
	}
	var said bytes.Buffer
	up.Stderr = &said
	out, err := up.Output()
	if err != nil {
		t.Fatalf("up %s: %v\n%s", name, err, said.String())
	}
	_, dir, _ := strings.Cut(strings.SplitN(string(out), "\n", 2)[0], "ROWLOCK_SERVERS_DIR=")
	s := &Server{t: t, name: name, dir: dir}
	t.Cleanup(func() {
		down := exec.Command(filepath.Join(folder, "down"), dir) //nolint:noctx // it ends by itself
		if out, err := down.CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	s.learn(t)
	return s
}

// scripts is this folder, whichever package's test asks.
func scripts(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/rowlock/rowlock/test/servers").Output()
	if err != nil {
		t.Fatalf("where are the scripts? %v", err)
	}
	return strings.TrimSpace(string(out))
}

// learn finds how the server can be reached and how it was started.
func (s *Server) learn(t testing.TB) {
	t.Helper()
	dsn := strings.TrimSpace(s.read(filepath.Join(s.dir, "dsn", s.name)))
	s.DSN = URL(dsn)
	if s.name == "mongo" {
		s.DSN = inDatabase(t, dsn, "own")
	}
	if config, err := mysql.ParseDSN(dsn); err == nil && config.Addr != "" && !strings.Contains(dsn, "://") {
		s.addr = config.Addr
	} else if u, err := url.Parse(dsn); err == nil {
		s.addr = u.Host
	}
	pid := s.pid()
	if pid == 0 {
		contained(t, s.name)
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	argv := strings.Split(strings.TrimSuffix(s.read(filepath.Join(proc, "cmdline")), "\x00"), "\x00")
	s.cmd = &exec.Cmd{
		Path: argv[0], Args: argv, Dir: filepath.Join(s.dir, s.name),
		Env: strings.Split(strings.TrimSuffix(s.read(filepath.Join(proc, "environ")), "\x00"), "\x00"),
	}
	exe, err := os.Readlink(filepath.Join(proc, "exe"))
	info, failed := os.Stat(proc)
	if err != nil || failed != nil {
		t.Fatalf("%v, %v", err, failed)
	}
	if s.cmd.Path = argv[0]; !filepath.IsAbs(argv[0]) {
		s.cmd.Path = exe
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		s.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
}

func (s *Server) read(file string) string {
	s.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *Server) pidFile() string { return filepath.Join(s.dir, "pid", s.name) }

// pid is 0 for what is no process of this machine's.
func (s *Server) pid() int {
	text, _ := os.ReadFile(s.pidFile())
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// Stop ends the server as an administrator does who does not wait for its clients.
func (s *Server) Stop() {
	s.t.Helper()
	signal := syscall.SIGTERM
	if s.name == "postgres" {
		signal = syscall.SIGINT // SIGTERM waits for the clients
	}
	pid := s.pid()
	if err := syscall.Kill(pid, signal); err != nil {
		s.t.Fatalf("stop %s: %v", s.name, err)
	}
	s.await("end", func() bool { // a child that nobody waits for is a zombie
		state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		return err != nil || bytes.Contains(state, []byte(") Z "))
	})
}

// Start starts it again on its data and port.
func (s *Server) Start() {
	s.t.Helper()
	again := &exec.Cmd{Path: s.cmd.Path, Args: s.cmd.Args, Dir: s.cmd.Dir, Env: s.cmd.Env, SysProcAttr: s.cmd.SysProcAttr}
	log, err := os.OpenFile(filepath.Join(s.cmd.Dir, "log"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	again.Stdout, again.Stderr = log, log
	if err := again.Start(); err != nil {
		s.t.Fatalf("start %s: %v", s.name, err)
	}
	if err := os.WriteFile(s.pidFile(), []byte(strconv.Itoa(again.Process.Pid)), 0o600); err != nil {
		s.t.Error(err)
	}
	_ = again.Process.Release() // nobody waits for it: it ends with the test
	s.await("listen", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func (s *Server) await(what string, holds func() bool) {
	s.t.Helper()
	limit, tick := time.NewTimer(startTime), time.NewTicker(20*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-limit.C:
			s.t.Fatalf("%s does not %s:\n%s", s.name, what, s.read(filepath.Join(s.cmd.Dir, "log")))
		case <-tick.C:
		}
	}
}
