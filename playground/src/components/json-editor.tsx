import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { createEditor, type Editor } from "../editor/editor.ts";
import * as draft from "../state/draft.ts";

/** The params as JSON. It is in a shadow root, because there its styles need no exception to the content security policy. */
export function JsonEditor() {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | undefined>(undefined);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    editor.current = createEditor(root, draft.text.peek(), draft.edit);
    return () => {
      editor.current?.close();
      editor.current = undefined;
    };
  }, []);
  useSignalEffect(() => {
    const text = draft.text.value;
    editor.current?.show(text);
  });
  useSignalEffect(() => {
    const faults = draft.faults.value;
    editor.current?.mark(faults);
  });
  return <div class="editor" ref={host} />;
}
