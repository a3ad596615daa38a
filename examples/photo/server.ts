import { openSite } from "./site.ts";

const { url } = await openSite(Number(process.env.PORT ?? 8000));
console.log(`Listening on ${url}`);
