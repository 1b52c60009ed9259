package httpjob

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
)

// barredError is a request that must not be made; trying again would not help.
type barredError struct{ hint string }

func (e *barredError) Error() string { return e.hint }

// judge says why an address must not be reached, "" if it may.
type judge func(netip.Addr) string

func allowAll(netip.Addr) string { return "" }

// control is asked with the resolved address right before each connection, also
// of a redirect, so a name that resolves differently the second time does not pass.
func (j judge) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &barredError{hint: "the address to connect to cannot be read"}
	}
	if sort := j(to.Addr()); sort != "" {
		return &barredError{hint: "the host has " + sort + " address, which is refused: allow it with --http-allow-private where its network may be reached by jobs"}
	}
	return nil
}

// refuse bars what is not of the public Internet. An IPv6 address that carries
// an IPv4 one is judged by that one.
func refuse(addr netip.Addr) string {
	addr = carried(addr.WithZone(""))
	switch {
	case addr.IsLoopback():
		return "a loopback"
	case addr.IsPrivate():
		return "a private"
	case addr.IsUnspecified():
		return "an unspecified"
	case addr.IsLinkLocalUnicast():
		return "a link-local"
	case addr.IsMulticast():
		return "a multicast"
	case addr.Is4() && within(addr, special4()):
		return "a shared or reserved"
	case addr.Is6() && (!global6().Contains(addr) || within(addr, special6())):
		return "a reserved"
	}
	return ""
}

func within(addr netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// carried gives the IPv4 address inside a mapped, compatible, NAT64 or 6to4 address.
func carried(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if !addr.Is6() || addr.IsLoopback() || addr.IsUnspecified() {
		return addr
	}
	b := addr.As16()
	switch {
	case netip.MustParsePrefix("::/96").Contains(addr), netip.MustParsePrefix("64:ff9b::/96").Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

// special4 lists what IANA keeps apart beside the sorts that netip knows: this
// network, carrier-grade NAT, protocol assignments, documentation, the 6to4
// relay, benchmarks, and the reserved block with broadcast.
func special4() []netip.Prefix {
	return prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4")
}

// special6 lists what is kept apart inside the global block: Teredo and other
// protocol assignments, and documentation.
func special6() []netip.Prefix { return prefixes("2001::/23", "2001:db8::/32", "3fff::/20") }

// global6 is the one block that public IPv6 addresses come from.
func global6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// checkRedirect follows at most maxRedirects, to http or https only, never from
// https down to http, and not where the redirect itself is expected. To another
// host it takes only headers that tell nothing.
func (c *call) checkRedirect(req *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	if req.Response != nil && c.expects(req.Response.StatusCode) {
		return http.ErrUseLastResponse
	}
	switch {
	case len(via) > maxRedirects:
		return errRedirects
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return &barredError{hint: "it redirects to a URL that is not http or https"}
	case last.URL.Scheme == "https" && req.URL.Scheme == "http":
		return &barredError{hint: "it redirects from https down to http"}
	}
	if !strings.EqualFold(req.URL.Host, first.URL.Host) {
		for name := range req.Header {
			if !tellsNothing(name) {
				req.Header.Del(name)
			}
		}
	}
	return nil
}

func tellsNothing(header string) bool {
	switch header {
	case "Accept", "Content-Type", "User-Agent", "Idempotency-Key":
		return true
	}
	return false
}
