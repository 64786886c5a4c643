import type { Role } from '../../client/api.ts';

/** Who sent a request. */
export interface Caller {
  /** The token's name; `local` where none is needed. */
  readonly name: string;
  readonly role: Role;
}
