import { mcpServer, resource } from "callwire/mcp";
import { mcpClient, mcpMemoryLink } from "callwire/mcp/client";
import { expect, test } from "vitest";
import { Changes } from "../../../src/mcp/server/changes.ts";
import { Session } from "../../../src/mcp/server/session.ts";

const long = "x".repeat(128 * 1024);

test("the subscriptions of all sessions together are limited, and a few are always possible", () => {
  const changes = new Changes();
  const open = (id: number): Session => {
    const session = new Session(`${id}`);
    changes.addSession(session);
    return session;
  };
  const sessions = Array.from({ length: 128 }, (_, id) => open(id));
  for (const session of sessions) expect(changes.subscribe(session, long)).toBe(true);
  const other = open(128);
  expect(changes.subscribe(other, long)).toBe(false);
  expect(changes.subscribe(other, "file:///a")).toBe(true);
  expect([...(other.subscriptions ?? [])]).toEqual(["file:///a"]);

  const [first, second] = sessions as [Session, Session];
  const third = open(129);
  changes.unsubscribe(first, long);
  changes.unsubscribe(first, long);
  expect(changes.subscribe(third, long.slice(9))).toBe(true);
  const fourth = open(130);
  expect(changes.subscribe(fourth, long)).toBe(false);
  changes.removeSession(second);
  changes.removeSession(second);
  expect(changes.subscribe(fourth, long)).toBe(true);
  expect(changes.subscribe(open(131), long)).toBe(false);
});

test("the subscriptions of one session are limited in number and in length", () => {
  const changes = new Changes();
  const many = new Session("many");
  const numbers = Array.from({ length: 1_001 }, (_, number) => number);
  const subscribed = numbers.filter((number) => changes.subscribe(many, `file:///${number}`));
  expect(subscribed).toEqual(numbers.slice(0, 1_000));
  const few = new Session("few");
  expect(changes.subscribe(few, long)).toBe(true);
  expect(changes.subscribe(few, "a")).toBe(false);
});

test("one request listens to a limited number of resources, and length of their URIs", async () => {
  const info = { name: "test", version: "1.0.0" };
  const resources = [resource({ uriTemplate: "file:///{name}", read: () => "" })];
  await using client = mcpClient(mcpMemoryLink(mcpServer({}, { ...info, resources })), info);
  const listen = async (...uris: string[]) => (await client.subscribe({ uris }, () => {})).close();
  const many = Array.from({ length: 1_001 }, (_, i) => `file:///${i}`);
  await listen(...many.slice(1));
  await expect(listen(...many)).rejects.toMatchObject({ code: -32602 });
  await expect(listen(`file:///${long}`)).rejects.toMatchObject({ code: -32602 });
});
