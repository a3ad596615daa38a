import { computed, signal } from "@preact/signals";
import type { OpenrpcMethod } from "callwire/openrpc";
import { useEffect, useRef } from "preact/hooks";
import { forget } from "../state/calls.ts";
import { choose } from "../state/draft.ts";
import { found, groups, isStream, methods, search, selectedName } from "../state/methods.ts";
import { status } from "../state/session.ts";
import { goToCall, pane } from "../state/view.ts";
import { CredentialsButton } from "./credentials.tsx";
import { Icon } from "./icon.tsx";
import { plural } from "./units.ts";

/** The methods of the server, grouped by the first part of their names. */
export function MethodsPanel() {
  const list = useRef<HTMLDivElement>(null);
  const typed = search.value.trim();
  /**
   * Enter selects the match of the search. Arrow keys, Home and End move through the methods; only one of them is a
   * tab stop.
   */
  const walk = (event: KeyboardEvent): void => {
    const buttons = [...(list.current?.querySelectorAll<HTMLButtonElement>("button.method") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (at < 0 && event.key === "Enter") {
      if (typed === "") return;
      take(wantedOf(typed));
      goToCall();
      return;
    }
    // In the search field, Home and End move the cursor.
    if (at < 0 && event.key !== "ArrowDown") return;
    const places: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: Math.max(0, at - 1),
      Home: 0,
      End: buttons.length - 1,
    };
    const next = buttons[places[event.key] ?? -1];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <nav class="panel methods" aria-label="Methods" onKeyDown={walk}>
      <div class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search methods"
          aria-label="Search methods"
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
        <kbd>/</kbd>
      </div>
      <div class="scroll" ref={list}>
        {groups.value.map((group) => (
          <section
            key={group.name}
            class="group"
            aria-label={group.name === "" ? "without a group" : group.name}
          >
            {group.name === "" ? null : <h2>{group.name}</h2>}
            <ul>
              {group.methods.map(({ label, method }) => (
                <MethodItem key={method.name} label={label} method={method} />
              ))}
            </ul>
          </section>
        ))}
        {typed !== "" && !found.value.some(({ name }) => name === typed) ? (
          <div class="note">
            {found.value.length === 0 ? <p>No matches.</p> : null}
            <button type="button" class="quiet" onClick={() => take(typed)}>
              Call “{typed}” all the same
            </button>
          </div>
        ) : null}
        {methods.value.length === 0 && typed === "" ? <Empty /> : null}
      </div>
      <footer class="note">{plural(methods.value.length, "method")}</footer>
    </nav>
  );
}

/** The method that had the focus last. */
const focused = signal<string | undefined>(undefined);

/** The one method in the tab order: that with the focus, else the chosen one, else the first. */
const tabStop = computed(() => {
  const names = new Set(found.value.map(({ name }) => name));
  const wanted = [focused.value, selectedName.value].find(
    (name) => name !== undefined && names.has(name),
  );
  return wanted ?? groups.value[0]?.methods[0]?.method.name;
});

function MethodItem({ label, method }: { readonly label: string; readonly method: OpenrpcMethod }) {
  const isChosen = selectedName.value === method.name;
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) item.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  return (
    <li ref={item}>
      <button
        type="button"
        class={isChosen ? "method chosen" : "method"}
        tabIndex={tabStop.value === method.name ? 0 : -1}
        onFocus={() => {
          focused.value = method.name;
        }}
        aria-current={isChosen ? "true" : undefined}
        onClick={() => take(method.name)}
      >
        <span class={method.deprecated === true ? "method-name old" : "method-name"}>{label}</span>
        {isStream(method) ? <span class="mark stream">stream</span> : null}
        {method["x-upload"] === undefined ? null : <span class="mark stream">upload</span>}
        {method.deprecated === true ? <span class="mark old">deprecated</span> : null}
        {method.summary === undefined ? null : <span class="method-summary">{method.summary}</span>}
      </button>
    </li>
  );
}

/** The method with this name, else the first that the search shows; one that is not listed can be called too. */
function wantedOf(typed: string): string {
  const isNamed = found.value.some(({ name }) => name === typed);
  return isNamed ? typed : (groups.value[0]?.methods[0]?.method.name ?? typed);
}

function take(name: string): void {
  if (selectedName.value !== name) {
    forget();
    choose(name);
  }
  pane.value = "call";
}

function Empty() {
  return (
    <div class="note">
      <p>{emptyNote()}</p>
      {status.value.state === "locked" ? <CredentialsButton /> : null}
    </div>
  );
}

function emptyNote(): string {
  switch (status.value.state) {
    case "connecting":
      return "Asking the server what it offers …";
    case "connected":
      return "The server offers no methods that you may call.";
    case "silent":
      return "This server does not describe itself. Type the name of a method above to call it.";
    case "locked":
      return "The server requires a credential to list its methods.";
    case "refused":
      return "The server does not say what it offers. Type the name of a method above to call it.";
    default:
      return "The methods appear when the server answers.";
  }
}
