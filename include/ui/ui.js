// Inside Airflow's frame: its colours, and its own pages where a link leads to one. Without this all links still work.
"use strict";
const framed = (() => {
  try { return window.parent !== window && Boolean(window.parent.document); } catch { return false; }
})();

if (framed) {
  const page = document.documentElement;
  const theirs = window.parent.document.documentElement;
  const copy = () => {
    const theme = ["dark", "light"].find((name) => theirs.classList.contains(name));
    if (theme) page.dataset.theme = theme;
  };
  page.classList.add("framed");
  copy();
  new MutationObserver(copy).observe(theirs, { attributes: true, attributeFilter: ["class"] });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-airflow]");
    if (!link || event.button !== 0) return;
    event.preventDefault();
    const above = window.parent.document.createElement("a");
    above.href = link.href;
    if (event.ctrlKey || event.metaKey || event.shiftKey) above.target = "_blank";
    window.parent.document.body.append(above);
    above.click();
    above.remove();
  });
}
