package httpjob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Kind is the name of the kind.
const Kind = "http"

// Bounds of one exchange.
const (
	DefaultTimeout = 30 * time.Second
	maxRedirects   = 5
	maxDrained     = 64 << 10 // of the answer's body, which is read to keep the connection
	maxHeaderBytes = 64 << 10
	dialTimeout    = 10 * time.Second
	idleConns      = 64
	idleConnsHost  = 8
	idleTimeout    = 30 * time.Second
)

// Config says what the handler may do.
type Config struct {
	AllowPrivate bool         // also private, loopback and other addresses that are not of the public Internet
	Clock        driven.Clock // to read a Retry-After that names a date
}

// Handler runs jobs of the kind "http". It is safe for concurrent use.
type Handler struct {
	transport *http.Transport
	clock     driven.Clock
}

var _ driven.Handler = (*Handler)(nil)

// New makes the handler. It opens no connection.
func New(cfg Config) *Handler {
	judge := refuse
	if cfg.AllowPrivate {
		judge = allowAll
	}
	return newHandler(judge, cfg.Clock)
}

func newHandler(judge judge, clock driven.Clock) *Handler {
	dialer := &net.Dialer{Timeout: dialTimeout, ControlContext: judge.control}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy of the environment would be a way around the guard
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConnsHost,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return &Handler{transport: transport, clock: clock}
}

// Close closes idle connections.
func (h *Handler) Close() { h.transport.CloseIdleConnections() }

// Kind is "http".
func (h *Handler) Kind() string { return Kind }

// Run sends the request and judges the answer.
func (h *Handler) Run(ctx context.Context, task driven.Task) error {
	call, err := parseArgs(task.Args)
	if err != nil {
		return domain.Bury(err)
	}
	limited, cancel := context.WithTimeout(ctx, call.timeout)
	defer cancel()
	req, err := call.request(limited, task.ID)
	if err != nil {
		return domain.Bury(err)
	}
	client := http.Client{Transport: h.transport, CheckRedirect: call.checkRedirect}
	resp, err := client.Do(req)
	if err != nil { // the body of a redirect that was not followed is closed already
		return h.failed(ctx, limited, call, err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained) // so that the connection can be used again
	return h.judge(call, resp)
}

// failed turns an exchange without an answer into an outcome.
func (h *Handler) failed(ctx, limited context.Context, call *call, err error) error {
	var barred *barredError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &barred):
		return domain.Bury(call.fault(barred.hint))
	case limited.Err() != nil:
		return call.errorf("no answer within %v", call.timeout)
	}
	return call.errorf("%s", describe(err))
}

// request builds the request; a redirect that repeats the body gets a fresh reader of it.
func (c *call) request(ctx context.Context, id domain.JobID) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, c.url.String(), body)
	if err != nil {
		return nil, c.fault("the request cannot be built")
	}
	req.Header.Set("User-Agent", "rowlock")
	if c.contentType != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	if !id.IsZero() {
		req.Header.Set("Idempotency-Key", id.String())
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	return req, nil
}
