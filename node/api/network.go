package api

import "net/netip"

// Network is what a caller is counted by: an IPv4 address, or the /64 that one
// IPv6 customer has. What is no address stays what it is.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}
