import { challenge } from "../state/requests.ts";
import { reconnect } from "../state/session.ts";
import { isConnectOpen } from "../state/view.ts";
import { CredentialFields } from "./credential-fields.tsx";
import { Icon } from "./icon.tsx";

/** Shown instead of a method while the server requires credentials. */
export function AskCredentials() {
  return (
    <form
      class="welcome"
      onSubmit={(event) => {
        event.preventDefault();
        reconnect();
      }}
    >
      <h1>The server requires a credential</h1>
      <p class="lead">Enter a token or a header. The page keeps it in memory only.</p>
      {challenge.value === undefined ? null : (
        <p class="note asked">
          It accepts <code>{challenge.value}</code>
        </p>
      )}
      <div class="fields">
        <CredentialFields />
      </div>
      <div class="actions">
        <button type="submit" class="primary">
          <Icon name="plug" />
          Try again
        </button>
      </div>
    </form>
  );
}

/** Opens the credential fields from elsewhere on the page. */
export function CredentialsButton() {
  return (
    <button
      type="button"
      class="show-credential"
      onClick={() => {
        isConnectOpen.value = true;
      }}
    >
      <Icon name="plug" />
      Show a credential
    </button>
  );
}
