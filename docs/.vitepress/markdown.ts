import type { MarkdownRenderer } from "vitepress";

/** Code blocks of the language "mermaid" become diagrams. */
export function mermaidFences(markdown: MarkdownRenderer): void {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
    const { info = "", content = "" } = tokens[index] ?? {};
    if (info.trim() !== "mermaid") return fence?.(tokens, index, options, env, self) ?? "";
    return `<Diagram source="${encodeURIComponent(content)}" />`;
  };
}

/** Links to files outside of docs/ lead nowhere on the site; their text says what to look for in the repository. */
export function repositoryLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("repository-links", ({ tokens }) => {
    for (const { children } of tokens) {
      let isOutside = false;
      for (const token of children ?? []) {
        const href = token.type === "link_open" ? (token.attrGet("href") ?? "") : undefined;
        if (href?.startsWith("../")) {
          isOutside = true;
          token.attrs = [["title", `${href.slice(3)} in the repository`]];
        }
        if (!isOutside || (href === undefined && token.type !== "link_close")) continue;
        token.tag = "span";
        token.type = token.nesting === 1 ? "span_open" : "span_close";
        if (token.nesting === -1) isOutside = false;
      }
    }
  });
}
