package delivery

import "net/netip"

// Reach says which IP addresses the node may open a connection to. The zero
// value allows public addresses only.
type Reach struct {
	// Loopback allows 127.0.0.0/8 and ::1 for peers whose host is loopback itself.
	// It is for nodes that serve loopback alone: development, demo, tests.
	Loopback bool
	// Networks are the owner's own: a home network, a VPN.
	Networks []netip.Prefix
}

// never are the addresses at which clouds tell a machine its credentials. No
// network of the owner's opens them.
var never = prefixes(
	"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32",
	"192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128",
)

// special are the ranges without public hosts (IANA's registries of special
// addresses). Of IPv6 only 2000::/3 is public at all.
var special = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carriers' NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.31.196.0/24", // AS112
	"192.52.193.0/24", // AMT
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"192.175.48.0/24", // AS112
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
	"2001::/23",       // protocol assignments, Teredo, ORCHID
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4: carries any IPv4 address
	"2620:4f:8000::/48",
	"3fff::/20", // documentation
)

var (
	public6 = netip.MustParsePrefix("2000::/3")
	// nat64 carries an IPv4 address in its last four bytes (RFC 6052), and so is as
	// public as that. Its sibling 64:ff9b:1::/48 is a network's own and never public.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func within(list []netip.Prefix, ip netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// Allows says whether a connection to this IP address may be opened on behalf
// of a peer whose host is, or is not, loopback.
func (r Reach) Allows(ip netip.Addr, loopbackHost bool) bool {
	ip = bare(ip)
	switch {
	case !ip.IsValid() || within(never, ip):
		return false
	case within(r.Networks, ip):
		return true
	case ip.IsLoopback():
		return r.Loopback && loopbackHost
	}
	return isPublic(ip)
}

func isPublic(ip netip.Addr) bool {
	return !within(special, ip) && (ip.Is4() || public6.Contains(ip))
}

// bare is the address that is dialled in the end: without its zone, and an IPv4
// address where IPv6 only carries one.
func bare(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("").Unmap()
	if nat64.Contains(ip) {
		bytes := ip.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return ip
}
