package browsertest

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// named finds what a person can press under its name: its text, or its label.
const named = `((name) => {
	const words = (e) => (e.getAttribute("aria-label") || e.innerText || e.value || "").trim().replace(/\s+/g, " ");
	const all = [...document.querySelectorAll("a, button, summary, input[type=submit], label")].filter((e) => e.getClientRects().length > 0);
	return all.find((e) => words(e) === name) || all.find((e) => words(e).startsWith(name));
})`

// press presses a button or a link with the mouse, where a person sees it. The
// page has to stay.
func (b *tab) press(name string) {
	b.t.Helper()
	b.mouse(fmt.Sprintf("%s(%s)", named, quote(name)), name)
}

// mouse clicks in the middle of an element; something that covers it fails the
// test.
func (b *tab) mouse(element, name string) {
	b.t.Helper()
	b.until("there is "+name, "!!"+element)
	place := eval[[]float64](b, fmt.Sprintf(`(() => {
		const e = %s;
		e.scrollIntoView({block: "center"});
		const r = [...e.getClientRects()].find((r) => r.width > 0 && r.height > 0);
		const x = r.left + r.width / 2, y = r.top + r.height / 2;
		const hit = document.elementFromPoint(x, y);
		return hit && (e.contains(hit) || hit.contains(e)) ? [x, y] : [];
	})()`, element))
	if len(place) != 2 {
		b.t.Fatalf("%q is covered by something else", name)
	}
	b.clickAt(place[0], place[1])
}

func (b *tab) clickAt(x, y float64) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.MouseClickXY(x, y)))
}

// follow presses a button or a link, and waits for the next page.
func (b *tab) follow(name string) {
	b.t.Helper()
	b.leaving(func() { b.press(name) })
}

// leaving waits for the page that comes after an act.
func (b *tab) leaving(act func()) {
	b.t.Helper()
	eval[bool](b, "window.isOld = true")
	act()
	b.until("the next page is there", `window.isOld !== true && document.readyState === "complete"`)
}

// field finds an input by its label.
const field = `((name) => {
	const label = [...document.querySelectorAll("label")].find((l) => l.innerText.trim().replace(/\s+/g, " ").startsWith(name));
	return label && (label.control || label.querySelector("input, select, textarea"));
})`

// fill types into the field of a label.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	element := fmt.Sprintf("%s(%s)", field, quote(label))
	b.until("there is a field "+label, "!!"+element)
	eval[bool](b, fmt.Sprintf(`(() => { const e = %s; e.focus(); e.select && e.select(); return document.activeElement === e; })()`, element))
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(text)))
}
