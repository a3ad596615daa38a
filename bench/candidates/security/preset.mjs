import { secureDefaults } from "callwire/security";
import { apiKeys } from "callwire/security/keys";
import { guarded, records } from "./guarded.mjs";

const plenty = { capacity: 1e9, perSecond: 1e9 };

export default () =>
  guarded(
    secureDefaults({
      credentials: apiKeys(records),
      audit: () => {},
      perAddress: plenty,
      perPrincipal: plenty,
      // The core is kept busy on purpose.
      maxLagMs: 60_000,
    }),
    { access: { roles: ["caller"] } },
  );
