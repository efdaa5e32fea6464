package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// forwarded is where a proxy writes whom a request came from.
const forwarded = "X-Forwarded-For"

// BehindProxies gives a request that came through proxies of the owner's the
// address that they say it came from, for limits, sessions and the log. Each proxy
// adds one address at the end: the last that is none of theirs is what a proxy has
// seen, and all before it anybody may have written. From everybody else the header
// is dropped unread.
func BehindProxies(proxies []netip.Prefix, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, ok := origin(proxies, r); ok {
			r.RemoteAddr = net.JoinHostPort(from.String(), "0")
		}
		r.Header.Del(forwarded)
		next.ServeHTTP(w, r)
	})
}

func origin(proxies []netip.Prefix, r *http.Request) (from netip.Addr, ok bool) {
	from, err := netip.ParseAddr(remoteIP(r.RemoteAddr))
	if err != nil {
		return netip.Addr{}, false
	}
	hops := strings.Split(strings.Join(r.Header.Values(forwarded), ","), ",")
	for i := len(hops) - 1; i >= 0 && isProxy(proxies, from); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		from, ok = before, true
	}
	return from, ok
}

func isProxy(proxies []netip.Prefix, address netip.Addr) bool {
	for _, proxy := range proxies {
		if proxy.Contains(address.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}
