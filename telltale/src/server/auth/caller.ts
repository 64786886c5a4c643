import type { Role } from '../../client/api.ts';

/** Who sent a request. */
export interface Caller {
  /** What it is called on the screen: the token's name, or who started the server. */
  readonly name: string;
  /** How logs and the audit sign what it does: `token:ci`, `user:ana`. */
  readonly by: string;
  readonly role: Role;
}
