import type { Client } from "callwire";
import type { methods } from "../quickstart/methods.ts";

/** The program, which works over any wire. */
export async function program({ api }: Client<typeof methods>): Promise<string> {
  const sum = await api.math.add({ a: 2, b: 3 });
  const counted: number[] = [];
  for await (const n of api.math.count({ to: 3 })) counted.push(n);
  return `${await api.echo("hello")}, 2 + 3 = ${sum}, counted ${counted.join(" ")}`;
}
