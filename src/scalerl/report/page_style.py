"""The look of the page, in light and in dark."""

STYLE = """
:root { --ink: #1b1f24; --soft: #57606a; --paper: #f6f7f9; --card: #fff;
  --rule: #d8dee4; --mark: #0b62a4; --warn: #9a4a00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #a0a9b4; --paper: #0f1318; --card: #171c23;
    --rule: #30363d; --mark: #6cb6ff; --warn: #f0a868; }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
header, main, footer { max-width: 880px; margin: 0 auto; padding: 0 16px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 28px 0 4px; }
h2 { font-size: 1.25rem; margin: 0 0 8px; }
h3 { font-size: 1rem; margin: 24px 0 6px; }
h4 { font-size: .95rem; margin: 14px 0 4px; }
p { margin: 6px 0; }
a { color: var(--mark); }
.soft, figcaption, .notes, footer { color: var(--soft); font-size: .875rem; }
.headline { font-size: 1.08rem; font-weight: 600; }
.came { border-left: 3px solid var(--mark); padding-left: 10px; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 18px 20px; margin: 18px 0; }
ul { margin: 6px 0; padding-left: 1.2em; }
.warnings li::marker { color: var(--warn); }
figure { margin: 12px 0; }
figure svg { display: block; width: 100%; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
.scroll { overflow-x: auto; max-width: 100%; margin-top: 16px; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: 0 0 4px; }
th, td { padding: 4px 14px 4px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
td { white-space: nowrap; }
td.word { max-width: 30em; overflow: hidden; text-overflow: ellipsis; }
th.number, td.number { text-align: right; }
details { margin-top: 18px; }
summary { cursor: pointer; color: var(--mark); }
footer { padding-bottom: 40px; }
@media (max-width: 480px) {
  section { padding: 14px 12px; }
  th, td { padding-right: 10px; }
  td.word:first-child { max-width: 12em; }
  body { font-size: 15px; }
  h1 { font-size: 1.35rem; }
}
@media print { body { background: #fff; } section { break-inside: avoid-page; border-color: #ccc; } }
"""
