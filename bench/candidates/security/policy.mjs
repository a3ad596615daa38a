import { authenticate, authorize } from "callwire/security";
import { apiKeys } from "callwire/security/keys";
import { guarded, records } from "./guarded.mjs";

const others = Array.from({ length: 8 }, (_, i) => ({
  methods: `group-${i}/**`,
  roles: [`role-${i}`],
}));
const policy = {
  allow: [...others, { methods: "a*", roles: ["caller"] }],
  deny: [{ methods: "system/**", roles: ["caller"] }],
};

export default () => guarded({ use: [authenticate(apiKeys(records)), authorize(policy)] });
