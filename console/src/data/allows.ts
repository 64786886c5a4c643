import type { Role } from '../../../telltale/src/client/api.ts';

const RANKS: Readonly<Record<Role, number>> = { read: 0, run: 1, admin: 2 };

export const allows = (role: Role, needed: Role): boolean => RANKS[role] >= RANKS[needed];
