/** What a fleet goes by (`agree-on-lease.ts`); null for the usual one. */
export const LEASES = `
ALTER TABLE {S}.meta ADD COLUMN lease_ms bigint;
`;
