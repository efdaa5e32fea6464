// Passkeys: a form with data-passkey asks the authenticator before it is sent.
(() => {
  "use strict";

  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const known = (list) => (list || []).map((key) => ({ ...key, id: bytes(key.id) }));

  const ask = {
    create: (o) => navigator.credentials.create({
      publicKey: { ...o, challenge: bytes(o.challenge), user: { ...o.user, id: bytes(o.user.id) }, excludeCredentials: known(o.excludeCredentials) },
    }),
    get: (o) => navigator.credentials.get({
      publicKey: { ...o, challenge: bytes(o.challenge), allowCredentials: known(o.allowCredentials) },
    }),
  };

  // What the node reads: every buffer as base64url.
  const written = (credential) => {
    const from = credential.response, response = { clientDataJSON: text(from.clientDataJSON) };
    for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (from[name]) response[name] = text(from[name]);
    }
    if (from.getTransports) response.transports = from.getTransports();
    return JSON.stringify({
      id: credential.id, rawId: text(credential.rawId), type: credential.type,
      authenticatorAttachment: credential.authenticatorAttachment || undefined,
      clientExtensionResults: credential.getClientExtensionResults(), response,
    });
  };

  const problems = {
    NotAllowedError: "It was not done: it was cancelled, or it took too long.",
    InvalidStateError: "This device has a passkey for this node already.",
    SecurityError: "Passkeys do not work at this address.",
  };

  // A challenge lasts five minutes; the page has a new one when it is loaded.
  const loaded = Date.now(), lasts = 270000;

  const prepare = (form) => {
    const answer = form.elements.answer, problem = form.querySelector("[data-problem]");
    let busy = false;
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (busy) return;
      if (Date.now() - loaded > lasts) { location.assign(location.pathname + location.search); return; }
      busy = true;
      problem.hidden = true;
      try {
        answer.value = written(await ask[form.dataset.passkey](JSON.parse(form.dataset.options).publicKey));
      } catch (error) {
        problem.textContent = problems[error.name] || "It was not done. Try again.";
        problem.hidden = false;
        busy = false;
        return;
      }
      form.submit();
    });
  };

  if (!window.PublicKeyCredential || !window.isSecureContext) return;
  for (const form of document.querySelectorAll("form[data-passkey]")) prepare(form);
})();
