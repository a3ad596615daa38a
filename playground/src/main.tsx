import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { listenToKeys } from "./keys.ts";
import { choose, chooseAgain } from "./state/draft.ts";
import { loadHistory } from "./state/history.ts";
import { firstMethod, methods, selectedName } from "./state/methods.ts";
import { keepSession } from "./state/session.ts";
import { loadSettings } from "./state/settings.ts";
import { followLink, keepLink } from "./state/share.ts";
import { keepView } from "./state/view.ts";
import "./style/base.css";
import "./style/layout.css";
import "./style/controls.css";
import "./style/call.css";
import "./style/tools.css";

keepView();
loadHistory();
await loadSettings();
followLink();
keepSession();
keepLink();
listenToKeys();

// Without a link to a call, the page begins with a method to try.
effect(() => {
  if (methods.value.length === 0) return;
  untracked(() => {
    const first = firstMethod();
    if (selectedName.value !== undefined) chooseAgain();
    else if (first !== undefined) choose(first.name);
  });
});

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
