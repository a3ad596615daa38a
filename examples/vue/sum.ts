/** A component that calls a method. A .vue file would have the same setup. */
import { useQuery } from "@tanstack/vue-query";
import { defineComponent, h, onServerPrefetch } from "vue";
import { rpc } from "./rpc.ts";

export const Sum = defineComponent({
  props: { a: { type: Number, required: true }, b: { type: Number, required: true } },
  setup(props) {
    // A function, so that the query follows the props.
    const { data, error, suspense } = useQuery(() =>
      rpc.math.add.queryOptions({ a: props.a, b: props.b }),
    );
    // On a server, the component waits for its data.
    onServerPrefetch(async () => void (await suspense()));
    return () => h("p", error.value?.message ?? `${props.a} + ${props.b} = ${data.value}`);
  },
});
