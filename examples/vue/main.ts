// TanStack Query in Vue, rendered on the server; the page gets what was read there.
import { dehydrate, QueryClient, VueQueryPlugin } from "@tanstack/vue-query";
import { createSSRApp, h } from "vue";
import { renderToString } from "vue/server-renderer";
import { Sum } from "./sum.ts";

const queryClient = new QueryClient();
const app = createSSRApp({ render: () => h(Sum, { a: 2, b: 3 }) }).use(VueQueryPlugin, {
  queryClient,
});
console.log(await renderToString(app));
console.log("for the page:", JSON.stringify(dehydrate(queryClient).queries[0]?.state.data));
queryClient.clear();
