"""The look of a page of rollouts beside that of every page, and the script of its filters."""

STYLE = """
article { background: var(--card); border: 1px solid var(--rule); border-left: 4px solid var(--rule);
  border-radius: 10px; padding: 12px 16px; margin: 12px 0; }
article.right { border-left-color: var(--right); }
article.wrong { border-left-color: var(--warn); }
article[hidden] { display: none; }
:root { --right: #1a7f37; --forced: #fff3b8; }
@media (prefers-color-scheme: dark) { :root { --right: #56d364; --forced: #574a13; } }
article h3 { margin: 0 0 4px; font-size: .9rem; font-weight: 600; }
article pre { margin: 2px 0; white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.5 ui-monospace,
  SFMono-Regular, Menlo, Consolas, monospace; }
article dl { display: grid; grid-template-columns: 5.5em 1fr; gap: 2px 10px; margin: 6px 0; }
article dt { color: var(--soft); font-size: .875rem; }
article dd { margin: 0; min-width: 0; max-height: 24em; overflow-y: auto; }
mark.forced { background: var(--forced); color: inherit; outline: 1px dashed var(--warn); }
.answer { font-weight: 600; }
.tag { color: var(--soft); }
form { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; position: sticky; top: 0;
  background: var(--paper); padding: 8px 0; border-bottom: 1px solid var(--rule); z-index: 1; }
form label { font-size: .875rem; }
form select, form input { font: inherit; font-size: .875rem; color: inherit; background: var(--card);
  border: 1px solid var(--rule); border-radius: 6px; padding: 2px 6px; }
@media (max-width: 480px) { article dl { grid-template-columns: 1fr; } form { position: static; } }
@media print { form { display: none; } }
"""

SCRIPT = """
const form = document.querySelector("form");
const all = [...document.querySelectorAll("article")];
function admits(one) {
  const chosen = new FormData(form);
  for (const key of ["verdict", "task", "difficulty", "interrupted", "truncated"]) {
    const wanted = chosen.get(key);
    if (wanted && one.dataset[key] !== wanted.slice(1)) return false;
  }
  const words = (chosen.get("words") || "").toLowerCase();
  return !words || one.textContent.toLowerCase().includes(words);
}
function filter() {
  let shown = 0;
  for (const one of all) { one.hidden = !admits(one); shown += !one.hidden; }
  document.querySelector("output").textContent = shown + " of " + all.length + " shown";
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
"""
