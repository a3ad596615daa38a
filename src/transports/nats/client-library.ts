/** All imports from NATS's client; the connection itself is passed in. */
export {
  createInbox,
  headers as createHeaders,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  nanos,
  type PermissionViolationError,
  type Subscription,
} from "@nats-io/transport-node";
