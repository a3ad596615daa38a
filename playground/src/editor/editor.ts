import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import type { Fault } from "../schema/validate.ts";
import { completeFromSchema } from "./completion.ts";
import { colours, look } from "./look.ts";
import { rangeOf } from "./ranges.ts";

export interface Editor {
  /** Shows text that was changed outside of the editor. */
  show(text: string): void;
  mark(faults: readonly Fault[]): void;
  close(): void;
}

/** An editor for the params. Tab leaves it, so that keyboard users are not trapped. */
export function createEditor(
  root: ShadowRoot,
  text: string,
  onEdit: (text: string) => void,
): Editor {
  let isOwn = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        json(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [completeFromSchema], icons: false }),
        linter(parseFaults, { delay: 200 }),
        syntaxHighlighting(colours),
        look,
        placeholder("no params"),
        EditorView.lineWrapping,
        typeOverSelection,
        EditorView.contentAttributes.of({ "aria-label": "params as JSON", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isOwn) onEdit(update.state.doc.toString());
        }),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
        ]),
      ],
    }),
  });
  return {
    show(next) {
      const current = view.state.doc.toString();
      if (next === current) return;
      isOwn = true;
      view.dispatch({ changes: { from: 0, to: current.length, insert: next } });
      isOwn = false;
    },
    mark(faults) {
      const diagnostics: Diagnostic[] = faults.map((fault) => ({
        ...rangeOf(view.state, fault.path),
        severity: "warning",
        message: `${fault.path.join(".")} ${fault.message}`.trim(),
      }));
      // While the text is not JSON, the parser's own mark stays.
      if (parseFaults(view).length === 0) view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    close: () => view.destroy(),
  };
}

/**
 * What is typed over a selection replaces it here. Browsers would keep the look of what was
 * there in style attributes, which the policy of the page does not allow.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType === "insertText" && !view.state.selection.main.empty) {
      view.dispatch(view.state.replaceSelection(""));
    }
  },
});

const parse = jsonParseLinter();

/** Empty text means no params, and is not a fault. */
function parseFaults(view: EditorView): Diagnostic[] {
  return view.state.doc.toString().trim() === "" ? [] : parse(view);
}
