/** Symmetric JSON-RPC connections over any duplex channel. @module callwire/connection */
export type { Channel, ChannelFault, ChannelListener, CloseReason } from "./channel.ts";
export { Connection } from "./connection.ts";
export type { ConnectionOptions, FinishOptions } from "./connection-options.ts";
export { memoryChannels, memoryPair } from "./memory-channel.ts";
export type { Notice, Notices } from "./notices.ts";
export { type Open, reconnecting } from "./reconnect.ts";
export type { ReconnectOptions } from "./reconnect-options.ts";
export {
  type ByteListener,
  type ByteStream,
  StreamChannel,
  type StreamChannelOptions,
} from "./stream-channel.ts";
