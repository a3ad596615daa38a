/** The style of the HTML reference, with the colours of the playground. */
export const referenceStyle = `
:root {
  color-scheme: light dark;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --ground: light-dark(#f5f6f6, #101415);
  --panel: light-dark(#fbfcfc, #151a1b);
  --raised: light-dark(#ffffff, #1b2122);
  --line: light-dark(#dfe3e4, #2b3435);
  --text: light-dark(#16201f, #e6edec);
  --soft: light-dark(#4b5a5c, #b3c0c1);
  --faint: light-dark(#5f6d70, #95a4a6);
  --accent: light-dark(#0b5f59, #63d8c9);
  --accent-soft: light-dark(#dcf1ee, #12332f);
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { background: var(--ground); color: var(--text); font: 400 0.9375rem/1.55 var(--sans); margin: 0; overflow-wrap: break-word; }
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
code, pre { font: 0.8125rem/1.5 var(--mono); }
code { overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; margin: 0.5rem 0; overflow-x: auto; padding: 0.75rem; }
p, ul, ol { margin: 0.5rem 0; }
p { white-space: pre-line; }
.skip { background: var(--raised); left: 0.5rem; padding: 0.5rem 0.75rem; position: absolute; top: -4rem; }
.skip:focus { top: 0.5rem; z-index: 1; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); margin: 0 auto; max-width: 78rem; min-height: 100vh; }
nav { background: var(--panel); border-right: 1px solid var(--line); height: 100vh; overflow-y: auto; padding: 1rem 0.75rem; position: sticky; top: 0; }
nav h2 { color: var(--faint); font: 600 0.75rem var(--mono); margin: 1rem 0 0.25rem; padding: 0 0.5rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { border-radius: 6px; color: inherit; display: block; padding: 0.25rem 0.5rem; text-decoration: none; }
nav a:hover { background: var(--accent-soft); }
nav small { color: var(--faint); display: block; font-size: 0.75rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
main { min-width: 0; padding: 1.5rem clamp(1rem, 3vw, 2.5rem) 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.5rem; }
h1 small { color: var(--faint); font-size: 0.875rem; font-weight: 400; }
main section { background: var(--raised); border: 1px solid var(--line); border-radius: 8px; margin-top: 1rem; padding: 1rem 1.25rem; }
main h2 { font-size: 1rem; margin: 0; }
main h2 code { font-size: 1rem; font-weight: 600; }
h3 { color: var(--soft); font-size: 0.8125rem; margin: 1rem 0 0.25rem; }
table { border-collapse: collapse; margin: 0.25rem 0 0.5rem; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: 0.35rem 1rem 0.35rem 0; text-align: left; vertical-align: top; }
th { color: var(--faint); font-size: 0.75rem; font-weight: 600; }
td p, td ul { margin: 0; }
tbody tr:last-child td { border-bottom: 0; }
.remarks, .limits { color: var(--faint); font-size: 0.8125rem; }
@media (max-width: 48rem) {
  .page { display: block; }
  nav { border-bottom: 1px solid var(--line); border-right: 0; height: auto; max-height: 40vh; position: static; }
  main section { padding: 0.75rem; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  td { border: 0; padding: 0.1rem 0; }
  td:empty { display: none; }
  td[data-head]::before { color: var(--faint); content: attr(data-head) ": "; font-size: 0.75rem; }
  tr { border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
  tbody tr:last-child { border-bottom: 0; }
}
@media print {
  .page { display: block; }
  nav { display: none; }
}
`;
