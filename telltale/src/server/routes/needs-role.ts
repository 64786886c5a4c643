import type { Role } from '../../client/api.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Caller } from '../server-edges.ts';

const RANK: Readonly<Record<Role, number>> = { read: 0, run: 1, admin: 2 };

/** Throws `forbidden` where the caller's role is lower. */
export function mustHaveRole({ name, role }: Caller, needed: Role, operation: string): void {
  if (RANK[role] < RANK[needed]) throw forbidden(name, role, needed, operation);
}

const forbidden = (name: string, role: Role, needed: Role, operation: string) =>
  new RuntimeError(
    'forbidden',
    `${operation} needs the role "${needed}"; the token "${name}" has "${role}".`,
    {
      hint: `Use a token with the role "${needed}": telltale token create NAME --role ${needed}`,
    },
  );
