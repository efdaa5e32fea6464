package api

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Basic reads Basic credentials, form-encoded within as RFC 6749 §2.3.1 says.
func Basic(authorization string) (name, password string, ok bool) {
	scheme, text, found := strings.Cut(authorization, " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", "", false
	}
	name, password, found = strings.Cut(string(raw), ":")
	name, err1 := url.QueryUnescape(name)
	password, err2 := url.QueryUnescape(password)
	return name, password, found && err1 == nil && err2 == nil
}
