package nodetest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"agentlink/node/api/socket"
)

// Visitor is the owner's browser without scripts: it keeps cookies, opens pages
// and sends their forms.
type Visitor struct {
	// UserAgent is what the browser says of itself.
	UserAgent string

	tb     testing.TB
	base   string
	client http.Client
}

// NewVisitor makes a browser for the dashboard at an address. Nobody has signed
// in with it.
func NewVisitor(tb testing.TB, base string) *Visitor {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &Visitor{tb: tb, base: base, client: http.Client{Jar: jar}}
}

// Visitor makes a browser that nobody has signed in with.
func (n *Node) Visitor() *Visitor { return NewVisitor(n.tb, n.DashboardURL()) }

// DashboardURL is where the owner opens the dashboard, without a slash at the end.
func (n *Node) DashboardURL() string { return "http://localhost:" + port(n.tb, n.Info.AgentsURL) }

// SignInLink makes a one-time link.
func (n *Node) SignInLink() string {
	n.tb.Helper()
	return Owner[socket.SignInLink](n, socket.OwnerLink, nil).URL
}

// SignIn makes a browser in which the owner has signed in with a one-time link.
func (n *Node) SignIn() *Visitor {
	n.tb.Helper()
	v := n.Visitor()
	v.Open(n.SignInLink())
	return v
}

// Open signs in with a one-time link.
func (v *Visitor) Open(link string) {
	v.tb.Helper()
	v.Get(link).Want(http.StatusOK).Submit("", nil).Want(http.StatusOK)
	if len(v.Cookies()) == 0 {
		v.tb.Fatal("the one-time link does not sign in")
	}
}

// Cookies are those that the node has set.
func (v *Visitor) Cookies() []*http.Cookie {
	v.tb.Helper()
	base, err := url.Parse(v.base)
	if err != nil {
		v.tb.Fatal(err)
	}
	return v.client.Jar.Cookies(base)
}

// Page is what came of a request.
type Page struct {
	v      *Visitor
	URL    *url.URL
	Status int
	Header http.Header
	Body   string
	Root   *html.Node
}

// Get opens a path of the node, or a whole address.
func (v *Visitor) Get(path string) Page {
	v.tb.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.base + path
	}
	r, err := http.NewRequestWithContext(v.tb.Context(), http.MethodGet, path, nil)
	if err != nil {
		v.tb.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "none")
	return v.send(r)
}

// Post sends a form to a path of the node, from a page of it.
func (v *Visitor) Post(path string, form url.Values) Page {
	v.tb.Helper()
	r, err := http.NewRequestWithContext(v.tb.Context(), http.MethodPost, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.tb.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", v.base)
	return v.send(r)
}

func (v *Visitor) send(r *http.Request) Page {
	v.tb.Helper()
	if v.UserAgent != "" {
		r.Header.Set("User-Agent", v.UserAgent)
	}
	response, err := v.client.Do(r)
	if err != nil {
		v.tb.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.tb.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	root, err := html.Parse(strings.NewReader(string(body)))
	if err != nil {
		v.tb.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return Page{v: v, URL: response.Request.URL, Status: response.StatusCode, Header: response.Header, Body: string(body), Root: root}
}

// Want fails the test where the status is another.
func (p Page) Want(status int) Page {
	p.v.tb.Helper()
	if p.Status != status {
		p.v.tb.Fatalf("%s: status %d, want %d: %s", p.URL.Path, p.Status, status, p.Text())
	}
	return p
}

// Says fails the test where the page lacks one of these texts.
func (p Page) Says(texts ...string) Page {
	p.v.tb.Helper()
	said := p.Text()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			p.v.tb.Errorf("%s does not say %q: %s", p.URL.Path, text, said)
		}
	}
	return p
}

// Text is all text of the page, its spaces made one.
func (p Page) Text() string { return textOf(p.Root) }

func textOf(root *html.Node) string {
	var words []string
	for n := range root.Descendants() {
		if n.Type == html.TextNode && (n.Parent == nil || (n.Parent.Data != "script" && n.Parent.Data != "style")) {
			words = append(words, strings.Fields(n.Data)...)
		}
	}
	return strings.Join(words, " ")
}

// Field is the value of the first input of a name; "" where there is none.
func (p Page) Field(name string) string {
	for n := range p.Root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "input" && Attribute(n, "name") == name {
			return Attribute(n, "value")
		}
	}
	return ""
}

// Follow opens the first link of the content whose address begins like this.
func (p Page) Follow(prefix string) Page {
	p.v.tb.Helper()
	for n := range p.Root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "a" && above(n, "main") != nil && strings.HasPrefix(Attribute(n, "href"), prefix) {
			return p.v.Get(Attribute(n, "href"))
		}
	}
	p.v.tb.Fatalf("%s has no link to %s: %s", p.URL.Path, prefix, p.Text())
	return Page{}
}

// Submit presses a button by its text and sends the form that it is in, with
// what the form holds and these values; "" is the first form's first button.
func (p Page) Submit(button string, values url.Values) Page {
	p.v.tb.Helper()
	for n := range p.Root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "button" || (button != "" && textOf(n) != button) {
			continue
		}
		if form := above(n, "form"); form != nil {
			return p.send(form, n, values)
		}
	}
	p.v.tb.Fatalf("%s has no button %q: %s", p.URL.Path, button, p.Text())
	return Page{}
}

// Button says whether the page has a button with this text.
func (p Page) Button(text string) bool {
	for n := range p.Root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "button" && textOf(n) == text {
			return true
		}
	}
	return false
}

func (p Page) send(form, button *html.Node, values url.Values) Page {
	p.v.tb.Helper()
	filled := FieldsOf(form)
	if name := Attribute(button, "name"); name != "" {
		filled.Set(name, Attribute(button, "value"))
	}
	for name, value := range values {
		filled[name] = value
	}
	action, err := p.URL.Parse(Attribute(form, "action"))
	if err != nil {
		p.v.tb.Fatal(err)
	}
	if strings.EqualFold(Attribute(form, "method"), http.MethodPost) {
		return p.v.Post(action.RequestURI(), filled)
	}
	action.RawQuery = filled.Encode()
	return p.v.Get(action.RequestURI())
}

// FieldsOf is what a browser sends of a form that nobody has changed.
func FieldsOf(form *html.Node) url.Values {
	values := url.Values{}
	for n := range form.Descendants() {
		name := Attribute(n, "name")
		if n.Type != html.ElementNode || name == "" {
			continue
		}
		switch kind := Attribute(n, "type"); {
		case n.Data == "textarea":
			values.Add(name, textOf(n))
		case n.Data == "select":
			values.Add(name, selected(n))
		case n.Data == "input" && (kind == "checkbox" || kind == "radio") && !has(n, "checked"):
		case n.Data == "input" && kind != "submit":
			values.Add(name, Attribute(n, "value"))
		}
	}
	return values
}

func selected(list *html.Node) string {
	first, found := "", false
	for n := range list.Descendants() {
		if n.Type != html.ElementNode || n.Data != "option" {
			continue
		}
		if has(n, "selected") {
			return Attribute(n, "value")
		}
		if !found {
			first, found = Attribute(n, "value"), true
		}
	}
	return first
}

// Attribute is an attribute of an element; "" where it has none.
func Attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func above(n *html.Node, name string) *html.Node {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == name {
			return n
		}
	}
	return nil
}
