// This script replaces the live parts of a page when the program reports a change. Without script,
// a person reloads the page instead.
"use strict";

(function () {
  const live = "[data-live]";
  if (!document.querySelector(live)) return;
  let loading = false, again = false;

  async function load() {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (!answer.ok) { location.reload(); return; }
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const parts = next.querySelectorAll(live);
      if (parts.length !== document.querySelectorAll(live).length) { location.reload(); return; }
      for (const part of parts) {
        const old = document.getElementById(part.id);
        if (!old) { location.reload(); return; }
        if (old.innerHTML !== part.innerHTML) old.replaceChildren(...document.importNode(part, true).childNodes);
      }
    } catch (e) {
      // The stream of events shows that the program is gone.
    } finally {
      loading = false;
      if (again) { again = false; load(); }
    }
  }

  const events = new EventSource("/events");
  const lost = document.getElementById("lost");
  events.onmessage = function () { lost.hidden = true; load(); };
  events.onerror = function () { lost.hidden = false; };
})();
