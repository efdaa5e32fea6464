// What the pages do by themselves. Everything works without this, but for live
// changes and passkeys.
(() => {
  "use strict";

  const words = (ms) => {
    const s = Math.floor(ms / 1000), min = Math.floor(s / 60), h = Math.floor(min / 60);
    if (ms <= 0) return "expired";
    if (s < 60) return `in ${s} s`;
    if (min < 60) return `in ${min} min`;
    if (h < 12) return min % 60 ? `in ${h} h ${min % 60} min` : `in ${h} h`;
    if (h < 48) return `in ${h} h`;
    return `in ${Math.floor(h / 24)} days`;
  };

  // The parts of an item bear its name.
  const parts = (item) => item.dataset.item ? document.querySelectorAll(`[data-item="${CSS.escape(item.dataset.item)}"]`) : [item];

  // An item that expires on an open page says so at once, and is no longer offered.
  const tick = () => {
    for (const clock of document.querySelectorAll("time[data-expires]")) {
      const left = Date.parse(clock.dateTime) - Date.now();
      const text = words(left);
      if (clock.textContent !== text) clock.textContent = text;
      if (left > 0) continue;
      const item = clock.closest("[data-item]");
      if (!item || item.hasAttribute("data-over")) continue;
      for (const part of parts(item)) {
        part.setAttribute("data-over", "");
        for (const button of part.querySelectorAll("button")) button.disabled = true;
      }
    }
  };

  // A page without HTTPS has no clipboard: there the text is selected at least.
  const copy = async (button, from) => {
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(from);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
  };

  const local = (root) => {
    for (const time of root.querySelectorAll("time[data-when]")) {
      const at = new Date(time.dateTime);
      time.title = at.toISOString();
      time.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    }
    for (const button of root.querySelectorAll("button[data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button, document.getElementById(button.dataset.copy)));
    }
  };

  // A form decides once, however often its button is pressed. One that gives a file
  // leaves its page open, to be used again.
  document.addEventListener("submit", (event) => {
    if (event.target.hasAttribute("data-file")) return;
    if (event.target.hasAttribute("data-sent")) { event.preventDefault(); return; }
    event.target.setAttribute("data-sent", "");
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) form.removeAttribute("data-sent");
  });

  document.addEventListener("DOMContentLoaded", () => { local(document); tick(); setInterval(tick, 500); });
  document.addEventListener("htmx:afterSwap", (event) => { local(event.target.parentElement || document); tick(); });
})();
