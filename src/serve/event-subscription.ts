/** The events of a topic, and the method that they call. */
export interface EventSubscription {
  /** The name of Dapr's component. */
  readonly pubsub: string;
  readonly topic: string;
  /** Called once for each event. */
  readonly method: string;
  /** Methods for some of the events: the first rule whose expression matches, such as `event.type == "paid"`. @default none */
  readonly routes?: readonly { readonly match: string; readonly method: string }[];
  /** Where Dapr puts events that could not be delivered. @default nowhere */
  readonly deadLetterTopic?: string;
  /** Whether Dapr delivers many events at once; each has its own outcome. @default false */
  readonly bulk?: boolean | { readonly maxMessages?: number; readonly maxAwaitMs?: number };
  /** Whether the messages of the topic are not CloudEvents: their payload is the data. @default false */
  readonly raw?: boolean;
  /** Settings for the component of the broker. @default none */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The methods that a subscription may call. */
export function methodsOf({ method, routes = [] }: EventSubscription): readonly string[] {
  return [method, ...routes.map((each) => each.method)];
}

/** A subscription as the answer to `/dapr/subscribe` has it; `pathOf` says where a method is delivered. */
export function asDapr(
  subscription: EventSubscription,
  pathOf: (method: string) => string,
): Readonly<Record<string, unknown>> {
  const { pubsub, topic, method, routes, deadLetterTopic, bulk = false, raw } = subscription;
  const metadata = { ...subscription.metadata, ...(raw === true && { rawPayload: "true" }) };
  const { maxMessages, maxAwaitMs } = typeof bulk === "object" ? bulk : {};
  return {
    pubsubname: pubsub,
    topic,
    ...(routes === undefined
      ? { route: pathOf(method) }
      : {
          routes: {
            rules: routes.map((each) => ({ match: each.match, path: pathOf(each.method) })),
            default: pathOf(method),
          },
        }),
    ...(deadLetterTopic !== undefined && { deadLetterTopic }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(bulk !== false && {
      bulkSubscribe: {
        enabled: true,
        ...(maxMessages !== undefined && { maxMessagesCount: maxMessages }),
        ...(maxAwaitMs !== undefined && { maxAwaitDurationMs: maxAwaitMs }),
      },
    }),
  };
}
