import type { Role, TokenInfo } from '../../client/api.ts';
import type { Caller } from './caller.ts';

/** Bearer tokens of a store. Only their hashes are kept: a token is shown once, when it is made. */
export interface Tokens {
  create(
    name: string,
    role: Role,
    createdBy?: string,
  ): Promise<{ readonly token: string; readonly info: TokenInfo }>;
  list(): Promise<readonly TokenInfo[]>;
  /** Whether there was one. */
  revoke(name: string): Promise<boolean>;
  /** Whose token it is; undefined where it is nobody's. */
  check(token: string): Promise<Caller | undefined>;
  /** Whether any is set. */
  any(): Promise<boolean>;
}
