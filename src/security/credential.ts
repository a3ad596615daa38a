import type { ErrorObject, MaybePromise } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";

/** One way to say who calls. */
export interface Credential {
  /** What `WWW-Authenticate` says about it. */
  readonly challenge?: string;
  /** Undefined where this credential is not present; an error where it is and is not valid. */
  verify(transport: Transport): MaybePromise<Principal | undefined | ErrorObject>;
}
