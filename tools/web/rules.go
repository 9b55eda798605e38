package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// refusal is why something is not fetched, in words for the model.
type refusal string

func (r refusal) Error() string { return string(r) }

// rules say which addresses may be asked for, by what is written in them. Where they lead is the transport's to check.
type rules struct {
	allow, deny []string
	ports       []uint16
	secret      func(string) bool
}

func newRules(o Options) (*rules, error) {
	r := &rules{ports: o.Ports, secret: o.Secret}
	if len(r.ports) == 0 {
		r.ports = []uint16{80, 443}
	}
	var err error
	if r.allow, err = domains(o.Allow); err != nil {
		return nil, err
	}
	r.deny, err = domains(o.Deny)
	return r, err
}

// CheckDomains says what is wrong with a list of domains for Options.
func CheckDomains(list []string) error {
	_, err := domains(list)
	return err
}

// domains returns domains as the hosts of addresses are compared with them.
func domains(list []string) (plain []string, err error) {
	for _, d := range list {
		host, err := canonicalHost(strings.TrimPrefix(d, "*."))
		if err != nil || strings.ContainsAny(host, "/*@ ") {
			return nil, fmt.Errorf("%q is not a domain like example.com", d)
		}
		plain = append(plain, host)
	}
	return plain, nil
}

// parse returns the address that a text is, if it may be asked for.
func (r *rules) parse(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if r.leaks(text) {
		return nil, refusal("The address holds a secret of this assistant, which must not be sent anywhere. Leave it out.")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, refusal("That is no address of a web page. Write it in full, as in https://example.com/page.")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, r.check(u)
}

// check refuses what must not be asked for, and puts the host into its one canonical form.
func (r *rules) check(u *url.URL) error {
	standard := map[string]uint16{"http": 80, "https": 443}[u.Scheme]
	if standard == 0 {
		return refusal("Only http:// and https:// addresses can be fetched.")
	}
	if u.User != nil {
		return refusal("The address holds a user name or a password. Addresses with credentials are not fetched.")
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return err
	}
	port, written := standard, u.Port()
	if written != "" {
		n, err := strconv.ParseUint(written, 10, 16)
		if err != nil {
			return refusal(fmt.Sprintf("%q is no port.", written))
		}
		port = uint16(n)
	}
	switch {
	case !slices.Contains(r.ports, port):
		return refusal(fmt.Sprintf("Port %d is not one that may be reached here.", port))
	case within(r.deny, host):
		return refusal(fmt.Sprintf("The operator does not allow %s to be fetched.", host))
	case len(r.allow) > 0 && !within(r.allow, host):
		return refusal(fmt.Sprintf("The operator allows only some domains to be fetched, and %s is not one of them.", host))
	}
	u.Host = host
	if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	if port != standard {
		u.Host += ":" + written
	}
	return nil
}

// trusted tells whether the operator named a host's domain.
func (r *rules) trusted(host string) bool { return within(r.allow, host) }

// leaks tells whether a text holds a secret, as it is or written with percent signs, once or several times over.
func (r *rules) leaks(text string) bool {
	if r.secret == nil {
		return false
	}
	for range 4 {
		if r.secret(text) {
			return true
		}
		plain := percent.ReplaceAllStringFunc(text, func(code string) string {
			n, _ := strconv.ParseUint(code[1:], 16, 8) // it is two hexadecimal digits
			return string([]byte{byte(n)})
		})
		if plain == text {
			return false
		}
		text = plain
	}
	return true // who hides a text so deeply has something to hide
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// checkRedirect lets a redirect through if its target may be asked for, without a word about where it came from.
func (r *rules) checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return errRedirects
	}
	next.Header.Del("Referer")
	return r.check(next.URL)
}

var errRedirects = errors.New("too many redirects")

// number is a last part of a host by which browsers and C libraries take it for an IPv4 address.
var number = regexp.MustCompile(`(?i)(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$`)

// canonicalHost returns a host in lower case, in ASCII, without a dot at its end. IP addresses must be in their usual
// form: other ways to write them, which one program understands and another does not, serve to get past checks.
func canonicalHost(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" || ip.Is4In6() {
			return "", refusal("IPv6 addresses with a zone, or with an IPv4 address inside, are not fetched.")
		}
		return ip.String(), nil
	}
	if !ascii(host) {
		plain, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", refusal(fmt.Sprintf("%q is no host name.", host))
		}
		if plain != host {
			return canonicalHost(plain)
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case host == "":
		return "", refusal("The address has no host.")
	case number.MatchString(host):
		return "", refusal(fmt.Sprintf("%q is no host name, and no IP address in its usual form.", host))
	}
	return host, nil
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// within tells whether a host is one of the domains, or below one.
func within(domains []string, host string) bool {
	return slices.ContainsFunc(domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}
