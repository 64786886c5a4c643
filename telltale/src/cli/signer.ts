import { userInfo } from 'node:os';
import { onBehalfOf, userIdentity } from '../kernel/identity.ts';
import { usage } from './usage.ts';

/** How records sign what a command does: the user of the operating system, whatever the environment says. */
export function signer(): string {
  const info = accountOf();
  return userIdentity(info.username === '' ? `uid ${info.uid}` : info.username);
}

/** The same where an option of the command line names somebody: a claim, which stands behind who makes it. */
export function signerFor(named: string | undefined, option = '--by'): string {
  if (named === undefined) return signer();
  if (named.trim() === '') throw usage(`${option} names nobody.`, `Write ${option} ann, or leave it out.`);
  const own = signer();
  return named === own || userIdentity(named) === own ? own : onBehalfOf(own, named);
}

/** A process may run under a number that has no name. */
function accountOf(): { readonly username: string; readonly uid: number } {
  try {
    const { username, uid } = userInfo();
    return { username, uid };
  } catch (thrown) {
    const { info } = thrown as { readonly info?: { readonly code?: string } };
    if (info?.code === undefined) throw thrown;
    return { username: '', uid: process.getuid?.() ?? -1 };
  }
}
