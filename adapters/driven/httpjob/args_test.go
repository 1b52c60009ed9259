package httpjob

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestBadArgsAreBuriedByField(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                                  "args.url",
		`null`:                                "args.url",
		`[1]`:                                 "args:",
		`"x"`:                                 "args:",
		`{"url":7}`:                           "args.url",
		`{"url":"ftp://hush"}`:                "args.url",
		`{"url":"http://"}`:                   "args.url",
		`{"url":"http://a b"}`:                "args.url",
		`{"url":"http://\u0001"}`:             "args.url",
		`{"url":"//hush/x"}`:                  "args.url",
		`{"url":"http://a","method":"TRACE"}`: "args.method",
		`{"url":"http://a","method":"GET / hush"}`:                    "args.method",
		`{"url":"http://a","retries":3}`:                              `"retries"`,
		`{"url":"http://a","timeout":"soon"}`:                         "args.timeout",
		`{"url":"http://a","timeout":0}`:                              "args.timeout",
		`{"url":"http://a","timeout":-1}`:                             "args.timeout",
		`{"url":"http://a","timeout":1e300}`:                          "args.timeout",
		`{"url":"http://a","timeout":"25h"}`:                          "args.timeout",
		`{"url":"http://a","timeout":[]}`:                             "args.timeout",
		`{"url":"http://a","expect":99}`:                              "args.expect",
		`{"url":"http://a","expect":[200,"x"]}`:                       "args.expect",
		`{"url":"http://a","headers":{"a b":"hush"}}`:                 "args.headers.a b",
		`{"url":"http://a","headers":{"":"hush"}}`:                    "args.headers.",
		`{"url":"http://a","headers":{"X":"a\r\nhush"}}`:              "args.headers.X",
		`{"url":"http://a","headers":{"Transfer-Encoding":"hush"}}`:   "args.headers.Transfer-Encoding",
		`{"url":"http://a","headers":{"Proxy-Authorization":"hush"}}`: "args.headers.Proxy-Authorization",
	} {
		err := New(Config{AllowPrivate: true}).Run(t.Context(), driven.Task{Args: []byte(args)})
		if v := verdict(err); v.To != domain.Dead || !errors.Is(err, &domain.Fault{Code: domain.Invalid}) {
			t.Errorf("%s: got %v (%v)", args, v.To, err)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestTimeoutForms(t *testing.T) {
	for form, want := range map[string]time.Duration{
		`"1m30s"`: 90 * time.Second, `2`: 2 * time.Second, `0.25`: 250 * time.Millisecond, `null`: DefaultTimeout, `86400`: maxTimeout,
	} {
		c, err := parseArgs([]byte(`{"url":"http://a","timeout":` + form + `}`))
		if err != nil || c.timeout != want {
			t.Errorf("%s: got %v, %v", form, c, err)
		}
	}
}

func FuzzArgs(f *testing.F) {
	f.Add([]byte(`{"url":"http://a/b?c","method":"post","headers":{"X":"y"},"body":{"a":1},"expect":[200],"timeout":"3s"}`))
	f.Add([]byte(`{"url":"https://[::1]:80","body":"text","timeout":0.5,"expect":204}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseArgs(text)
		if err != nil {
			if domain.CodeOf(err) != domain.Invalid {
				t.Fatalf("an untyped fault: %v", err)
			}
			return
		}
		if c.url.Host == "" || c.timeout < time.Millisecond || c.timeout > maxTimeout || c.method == "" {
			t.Fatalf("let through: %+v", c)
		}
		if _, err := c.request(t.Context(), jobID()); err != nil && domain.CodeOf(err) != domain.Invalid {
			t.Fatalf("an untyped fault: %v", err)
		}
	})
}
