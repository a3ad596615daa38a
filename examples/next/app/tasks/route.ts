import { visitor } from "../../board.ts";

/** A route of your own, such as a feed, that calls the same methods without a wire. */
export async function GET(): Promise<Response> {
  const tasks = await visitor().tasks.list();
  return Response.json(tasks.map(({ title, done }) => ({ title, done })));
}
