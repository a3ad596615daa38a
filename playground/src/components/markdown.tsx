import { type MarkdownBlock, type MarkdownSpan, readMarkdown } from "callwire/openrpc";

/** A description from the server: the safe part of Markdown, and everything else as text. */
export function Markdown({ text = "" }: { readonly text?: string | undefined }) {
  return (
    <>
      {readMarkdown(text).map((block, i) => (
        <Block key={i} block={block} />
      ))}
    </>
  );
}

function Block({ block }: { readonly block: MarkdownBlock }) {
  switch (block.kind) {
    case "code":
      return <pre class="markdown">{block.text}</pre>;
    case "list": {
      const items = block.items.map((item, i) => (
        <li key={i}>
          <Spans spans={item} />
        </li>
      ));
      return block.ordered ? <ol class="markdown">{items}</ol> : <ul class="markdown">{items}</ul>;
    }
    case "heading":
      return (
        <p class="markdown">
          <strong>
            <Spans spans={block.spans} />
          </strong>
        </p>
      );
    default:
      return (
        <p class="markdown">
          <Spans spans={block.spans} />
        </p>
      );
  }
}

function Spans({ spans }: { readonly spans: readonly MarkdownSpan[] }) {
  return (
    <>
      {spans.map((span, i) => {
        if (span.kind === "link")
          return (
            <a key={i} href={span.url} target="_blank" rel="noreferrer">
              {span.text}
            </a>
          );
        if (span.kind === "code") return <code key={i}>{span.text}</code>;
        if (span.kind === "strong") return <strong key={i}>{span.text}</strong>;
        if (span.kind === "emphasis") return <em key={i}>{span.text}</em>;
        return span.text;
      })}
    </>
  );
}
