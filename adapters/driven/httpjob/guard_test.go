package httpjob

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestGuardKnowsWhatIsNotPublic(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.127.255.255", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "100::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1",
	} {
		if refuse(netip.MustParseAddr(text)) == "" {
			t.Errorf("%s passes", text)
		}
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.0.1.1", "198.20.0.1",
		"2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		if sort := refuse(netip.MustParseAddr(text)); sort != "" {
			t.Errorf("%s is refused as %s", text, sort)
		}
	}
}

func TestPrivateHostIsBuriedUnreached(t *testing.T) {
	srv := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	port := srv.URL[strings.LastIndex(srv.URL, ":"):]
	h := New(Config{Clock: fixedClock{now()}})
	t.Cleanup(h.Close)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		err := run(t, h, map[string]any{"url": "http://" + host + port})
		if v := verdict(err); v.To != domain.Dead || !strings.Contains(err.Error(), "--http-allow-private") {
			t.Errorf("%s: got %v (%v)", host, v.To, err)
		}
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	err := run(t, open(t), map[string]any{"url": "http://rowlock.invalid"})
	if err == nil {
		t.Fatal("a host that is not there answered")
	}
}
