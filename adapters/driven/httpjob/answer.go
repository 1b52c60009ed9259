package httpjob

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

var errRedirects = errors.New("it redirects more than " + strconv.Itoa(maxRedirects) + " times")

// judge turns an answer into an outcome: an expected status is success, a 4xx
// says that the request itself is wrong and buries the job (but 408, 425 and
// 429), everything else is tried again, when the server says so or by the retry policy.
func (h *Handler) judge(c *call, resp *http.Response) error {
	if c.expects(resp.StatusCode) {
		return nil
	}
	status := strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	err := c.errorf("answered %s", status)
	if !transient(resp.StatusCode) {
		return domain.Bury(err)
	}
	if wait := h.retryAfter(resp.Header); wait > 0 {
		return domain.RetryAfter(wait, err)
	}
	return err
}

func transient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status < 400 || status > 499
}

// retryAfter reads the header, in seconds or as a date; 0 where it asks for no wait.
func (h *Handler) retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		if seconds > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return maxRetryAfter
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date")) // the clock that the server thinks in
	if err != nil {
		now = h.clock.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// errorf is an error that names the method and host. Nothing else of the args may enter it.
func (c *call) errorf(format string, args ...any) error {
	return fmt.Errorf("http: %s %s: %w", c.method, c.url.Host, fmt.Errorf(format, args...))
}

// fault is the same for what the args, not the network, are to blame for.
func (c *call) fault(hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: Kind, Subject: c.method + " " + c.url.Host, Hint: hint}
}

// describe says why an exchange failed. Only sorts of errors whose text is
// known to hold nothing of the request are shown: the client's own text has the whole URL.
func describe(err error) string {
	var (
		dns   *net.DNSError
		op    *net.OpError
		errno syscall.Errno
		cert  *tls.CertificateVerificationError
		alert tls.AlertError
	)
	switch {
	case errors.Is(err, errRedirects):
		return errRedirects.Error()
	case errors.As(err, &dns):
		return "the host name cannot be resolved: " + dns.Err
	case errors.As(err, &cert):
		return "the server's certificate is not trusted: " + cert.Err.Error()
	case errors.As(err, &alert):
		return "TLS failed: " + alert.Error()
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "the connection timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection without an answer"
	case errors.As(err, &op):
		return "the network failed at " + op.Op
	}
	return "the exchange failed"
}
