import { reconnect, status } from "../state/session.ts";
import { isConnectOpen } from "../state/view.ts";
import { AskCredentials } from "./credentials.tsx";

/** Shown instead of a method, until the server answers and a method is chosen. */
export function Welcome() {
  const now = status.value;
  if (now.state === "locked") return <AskCredentials />;
  return (
    <div class="welcome">
      <h1>Call a JSON-RPC method</h1>
      <p class="lead">
        A call is a JSON object: the name of a method, its params, and an id that the reply repeats.
        Select a method and press Call; the wire view shows both messages.
      </p>
      {now.state === "silent" ? (
        <p class="note">
          This server does not list its methods, which is optional. Type the name of one in the
          search field to call it.
        </p>
      ) : null}
      {"message" in now && now.state !== "silent" ? <p class="fault">{now.message}</p> : null}
      {"message" in now ? (
        <div class="row">
          <button type="button" class="primary" onClick={reconnect}>
            Ask the server again
          </button>
          <button
            type="button"
            onClick={() => {
              isConnectOpen.value = true;
            }}
          >
            Change the connection
          </button>
        </div>
      ) : null}
    </div>
  );
}
