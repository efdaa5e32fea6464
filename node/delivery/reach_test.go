package delivery

import (
	"net/netip"
	"testing"
)

func TestReachPublicOnly(t *testing.T) {
	t.Parallel()
	refused := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.254",
		"127.0.0.1", "127.0.0.53", "127.255.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2",
		"172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.7", "192.88.99.1", "192.168.0.1", "192.168.255.255",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.5", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"168.63.129.16",
		"::", "::1", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "64:ff9b:1::8.8.8.8",
		"100::1", "100:0:0:1::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1",
		"2002:7f00:1::1", "2002:a00:1::", "2002:808:808::1", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%lo", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
	}
	for _, text := range refused {
		if (Reach{}).Allows(netip.MustParseAddr(text), true) {
			t.Errorf("%s is allowed", text)
		}
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "198.20.0.1", "223.255.255.254",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450::1", "2003::1",
	} {
		if !(Reach{}).Allows(netip.MustParseAddr(text), false) {
			t.Errorf("%s is refused", text)
		}
	}
	if (Reach{}).Allows(netip.Addr{}, false) {
		t.Error("no address is allowed")
	}
}

func TestReachOfLoopbackAndNetworks(t *testing.T) {
	t.Parallel()
	home := Reach{Networks: prefixes("192.168.7.0/24", "fd12::/16", "0.0.0.0/0")}
	tests := []struct {
		name         string
		reach        Reach
		ip           string
		loopbackHost bool
		want         bool
	}{
		{"loopback host, loopback node", Reach{Loopback: true}, "127.0.0.1", true, true},
		{"loopback host, loopback node, IPv6", Reach{Loopback: true}, "::1", true, true},
		{"public name that resolves to loopback", Reach{Loopback: true}, "127.0.0.1", false, false},
		{"loopback host, public node", Reach{}, "127.0.0.1", true, false},
		{"loopback host that resolves to a private address", Reach{Loopback: true}, "10.0.0.1", true, false},
		{"the owner's network", home, "192.168.7.9", false, true},
		{"the owner's network, mapped", home, "::ffff:192.168.7.9", false, true},
		{"the owner's network, IPv6", home, "fd12::9", false, true},
		{"another network", Reach{Networks: prefixes("192.168.7.0/24")}, "192.168.8.9", false, false},
		{"metadata in the owner's network", home, "169.254.169.254", false, false},
		{"metadata in the owner's network, mapped", home, "::ffff:169.254.169.254", false, false},
		{"metadata in the owner's network, NAT64", home, "64:ff9b::169.254.169.254", false, false},
	}
	for _, tt := range tests {
		if got := tt.reach.Allows(netip.MustParseAddr(tt.ip), tt.loopbackHost); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
