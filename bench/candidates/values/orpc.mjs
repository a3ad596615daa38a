import { StandardRPCJsonSerializer } from "@orpc/client/standard";
import { dated } from "./dated.mjs";

export default () => {
  const serializer = new StandardRPCJsonSerializer();
  const carried = (value) => {
    const [json, meta] = serializer.serialize(value);
    const got = JSON.parse(JSON.stringify({ json, meta }));
    return serializer.deserialize(got.json, got.meta);
  };
  return {
    keepsDates: true,
    add: () => {
      const [a, b] = carried([1, 2]);
      return carried(a + b);
    },
    "100 dates": () => carried(dated()),
  };
};
