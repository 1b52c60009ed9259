package httpjob

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const (
	maxTimeout = 24 * time.Hour // for one exchange
	usage      = "give a JSON object with url, and if wanted method, headers, body, expect, timeout"
)

// args is what a job says, as JSON. Unknown fields are refused.
type args struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Expect  statuses          `json:"expect"`
	Timeout *domain.Span      `json:"timeout"`
}

// call is a checked request.
type call struct {
	method      string
	url         *url.URL
	headers     map[string]string
	body        []byte
	contentType string
	expect      []int
	timeout     time.Duration
}

func (c *call) expects(status int) bool {
	if len(c.expect) > 0 {
		return slices.Contains(c.expect, status)
	}
	return status >= 200 && status <= 299
}

// parseArgs reads and checks args. Its faults name the field and never its value.
func parseArgs(text []byte) (*call, error) {
	var a args
	if err := domain.DecodeStrict(Kind, "args", text, &a, usage); err != nil {
		return nil, err
	}
	c := &call{headers: a.Headers, expect: a.Expect, timeout: DefaultTimeout}
	if a.Timeout != nil {
		c.timeout = time.Duration(*a.Timeout)
	}
	if c.timeout < time.Millisecond || c.timeout > maxTimeout {
		return nil, badArg("timeout", fmt.Sprintf("it must be from 1ms to %v", maxTimeout))
	}
	if err := c.setBody(a.Body); err != nil {
		return nil, err
	}
	if err := c.setURL(a.URL); err != nil {
		return nil, err
	}
	if err := c.setMethod(a.Method); err != nil {
		return nil, err
	}
	return c, c.checkHeaders()
}

func badArg(field, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: Kind, Subject: "args." + field, Hint: hint}
}

// setBody takes a string as it is and any other JSON as JSON, byte by byte.
func (c *call) setBody(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	c.body, c.contentType = raw, "application/json"
	if raw[0] != '"' {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return badArg("body", "it cannot be read as a string")
	}
	c.body, c.contentType = []byte(text), "text/plain; charset=utf-8"
	return nil
}

func (c *call) setURL(text string) error {
	u, err := url.Parse(text) // its error holds the URL
	switch {
	case text == "":
		return badArg("url", "it is missing")
	case err != nil:
		return badArg("url", "it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return badArg("url", "it must begin with http:// or https://")
	case u.Hostname() == "":
		return badArg("url", "it names no host")
	}
	u.Fragment, u.RawFragment = "", ""
	c.url = u
	return nil
}

// setMethod checks the method; without one it is GET, or POST where there is a body.
func (c *call) setMethod(method string) error {
	c.method = strings.ToUpper(method)
	if c.method == "" {
		c.method = "GET"
		if c.body != nil {
			c.method = "POST"
		}
	}
	known := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	if !slices.Contains(known, c.method) {
		return badArg("method", "the methods are "+strings.Join(known, ", "))
	}
	return nil
}

func (c *call) checkHeaders() error {
	for name, value := range c.headers {
		field := "headers." + domain.CleanText(name, 60)
		switch {
		case !isToken(name):
			return badArg(field, "it is not a header's name")
		case isConnection(name):
			return badArg(field, "the connection's own headers cannot be set")
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return badArg(field, "its value holds a control character")
		}
	}
	return nil
}

func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		alnum := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isConnection(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "proxy-")
}

// statuses is one status or a list of them.
type statuses []int

// UnmarshalJSON reads 204 or [200, 204].
func (s *statuses) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	var one int
	if err := json.Unmarshal(text, &one); err == nil {
		*s = statuses{one}
	} else if err := json.Unmarshal(text, (*[]int)(s)); err != nil {
		return badArg("expect", "give a status, or a list of them")
	}
	for _, status := range *s {
		if status < 200 || status > 599 {
			return badArg("expect", "a status is from 200 to 599")
		}
	}
	return nil
}
