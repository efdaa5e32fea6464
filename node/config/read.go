package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"agentlink/node"
)

// reader reads one setting after another and keeps the first refusal.
type reader struct {
	getenv func(string) string
	err    error
}

func (r *reader) refuse(format string, args ...any) {
	if r.err == nil {
		r.err = refuse(format, args...)
	}
}

func (r *reader) value(name, fallback string) string {
	if value := strings.TrimSpace(r.getenv(name)); value != "" {
		return value
	}
	return fallback
}

// path makes a path absolute, so that it means the same in every process.
func (r *reader) path(name, fallback string) string {
	value := r.value(name, fallback)
	if value == "" {
		return ""
	}
	absolute, err := filepath.Abs(value)
	if err != nil {
		r.refuse("%s is not an absolute path and cannot be made one: %v", name, err)
	}
	return absolute
}

// dataDir follows the XDG base directories, where a relative path counts as none.
func (r *reader) dataDir() string {
	fallback := ""
	if home := r.getenv("HOME"); filepath.IsAbs(home) {
		fallback = filepath.Join(home, ".local", "share", "agentlink")
	}
	if xdg := r.getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
		fallback = filepath.Join(xdg, "agentlink")
	}
	dir := r.path(DataDirName, fallback)
	if dir == "" {
		r.refuse("there is no home folder to keep the node's data in: set %s", DataDirName)
	}
	return dir
}

func (r *reader) database(file string) DatabaseURL {
	value := DatabaseURL(r.value(DatabaseURLName, "sqlite:"+file))
	if !value.valid() {
		r.refuse("%s is not usable: set it to postgres://user:password@host/database or sqlite:PATH, or leave it out", DatabaseURLName)
	}
	return value
}

func (r *reader) listen(name, fallback string) string {
	value := r.value(name, fallback)
	if value == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		r.refuse("%s is %q: set it to host:port, such as localhost:7410", name, value)
		return value
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(number, 10) != port {
		r.refuse("%s is %q: the port must be a number from 0 to 65535", name, value)
	}
	if host != "" && !node.ValidHost(bracketed(host)) {
		r.refuse("%s is %q: the host must be a name or an IP address, in lower case", name, value)
	}
	return value
}

// bracketed is a host as it stands in a URL.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func (r *reader) publicURL() string { return r.address(PublicURLName, "that peers reach") }

// address reads scheme and host, without a path.
func (r *reader) address(name, whose string) string {
	value := r.value(name, "")
	if value == "" {
		return ""
	}
	parsed, err := url.Parse(value)
	if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") || !node.ValidHost(parsed.Host) {
		r.refuse("%s is not usable: set it to the address %s, such as https://node.example.org", name, whose)
		return ""
	}
	if parsed.User != nil || strings.Trim(parsed.Path, "/") != "" || strings.ContainsAny(value, "?#") {
		r.refuse("%s must be scheme and host only, such as https://node.example.org", name)
		return ""
	}
	return parsed.Scheme + "://" + withoutDefaultPort(parsed)
}

// withoutDefaultPort gives one host one name.
func withoutDefaultPort(u *url.URL) string {
	if (u.Scheme == "https" && u.Port() == "443") || (u.Scheme == "http" && u.Port() == "80") {
		return bracketed(u.Hostname())
	}
	return u.Host
}

func (r *reader) approvalTTL() time.Duration {
	value := r.value(ApprovalTTLName, "")
	if value == "" {
		return DefaultApprovalTTL
	}
	hours, err := strconv.Atoi(value)
	least, most := int(MinApprovalTTL/time.Hour), int(MaxApprovalTTL/time.Hour)
	if err != nil || hours < least || hours > most {
		r.refuse("%s is %q: set it to a whole number of hours from %d to %d", ApprovalTTLName, value, least, most)
		return 0
	}
	return time.Duration(hours) * time.Hour
}

func (r *reader) yes(name string) bool {
	switch value := r.value(name, "false"); strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true
	case "0", "false", "no", "off":
		return false
	default:
		r.refuse("%s is %q: set it to true or false", name, value)
		return false
	}
}

func (r *reader) networks() []netip.Prefix {
	var networks []netip.Prefix
	for text := range strings.SplitSeq(r.value(AllowPeerNetworksName, ""), ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil || network.Masked() != network {
			r.refuse("%s holds %q: set it to networks such as 192.168.1.0/24, with commas between them", AllowPeerNetworksName, text)
			continue
		}
		if !private(network) {
			r.refuse("%s holds %s, which is no private network: peers elsewhere need no permission, and this machine and its neighbours' own addresses get none", AllowPeerNetworksName, text)
			continue
		}
		networks = append(networks, network)
	}
	return networks
}

// proxies reads addresses, and networks of them.
func (r *reader) proxies() []netip.Prefix {
	var proxies []netip.Prefix
	for text := range strings.SplitSeq(r.value(TrustedProxiesName, ""), ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if address, err := netip.ParseAddr(text); err == nil {
			text = netip.PrefixFrom(address, address.BitLen()).String()
		}
		proxy, err := netip.ParsePrefix(text)
		if err != nil || proxy.Masked() != proxy || proxy.Bits() == 0 {
			r.refuse("%s holds %q: set it to the addresses of your proxies, such as 127.0.0.1, with commas between them", TrustedProxiesName, text)
			continue
		}
		proxies = append(proxies, proxy)
	}
	return proxies
}

// privateRanges are what people number their own networks with: RFC 1918, the
// shared space of carriers and overlay networks (RFC 6598), and RFC 4193.
var privateRanges = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("fc00::/7"),
}

func private(network netip.Prefix) bool {
	for _, space := range privateRanges {
		if space.Bits() <= network.Bits() && space.Contains(network.Addr()) {
			return true
		}
	}
	return false
}
