import { deepEqual } from '../../expressions/values.ts';
import { type Covered, coveredOf, fileChanges } from '../../lib/approved-files.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { portOf } from '../../manifest/permission-rules.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { withCoverage } from '../definition/approved-files.ts';
import type { Coverage } from '../definition/command-coverage.ts';
import type { ApprovalNeed, Target } from '../target.ts';
import type { PermittedHosts } from './permitted-hosts.ts';
import type { PermittedPaths } from './permitted-paths.ts';

/** The approval that using a path needs. `doing` says what would be done with it. */
export async function needForPath(
  paths: PermittedPaths,
  path: string,
  target: string,
  doing: string,
): Promise<ApprovalNeed | undefined> {
  const grant = paths.asks ? await paths.grantFor(path) : undefined;
  if (grant === undefined) return undefined;
  const { shown } = await paths.resolve(path, [grant]);
  // A link or `..` makes the path lead elsewhere than its name says.
  const leads = shown === path.replace(/^\.\/|\/$/g, '') ? '' : `, which is "${shown}"`;
  return {
    target,
    what: `${doing} "${path}"${leads}`,
    because: 'permissions: { paths: { ask } }',
    grants: [grant],
    always: { key: `${doing} ${grant}`, covers: `${doing} "${shown}" by ${target}, every time` },
  };
}

/** The approval that a request to a URL needs. An unreadable URL needs none: `run` reports what is wrong with it. */
export function needForUrl(
  hosts: PermittedHosts,
  method: string,
  address: string,
  target: string,
): ApprovalNeed | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!hosts.asks || url === undefined) return undefined;
  const grant = hosts.grantFor(url.hostname, portOf(url));
  if (grant === undefined) return undefined;
  return {
    target,
    what: `${method} ${url.href}`, // as it is sent: 2130706433 is 127.0.0.1
    because: 'permissions: { network: { ask } }',
    grants: [grant],
    always: {
      key: `${method} ${grant}`,
      covers: `every ${method} request of ${target} to ${grant.replace(/^host /, '')}`,
    },
  };
}

/** Combines several needs, any of which may be absent, into one. */
export function combineNeeds(...needs: readonly (ApprovalNeed | undefined)[]): ApprovalNeed | undefined {
  const [first, ...others] = needs.filter((need) => need !== undefined);
  if (first === undefined || others.length === 0) return first;
  const all = [first, ...others];
  return {
    target: first.target,
    what: [...new Set(all.map(({ what }) => what))].join('\n'),
    because: all.map(({ because }) => because).join('; '),
    grants: all.flatMap(({ grants }) => grants),
    ...combinedAlways(all),
  };
}

/** An "always" answer is offered for all of them or for none. */
function combinedAlways(all: readonly ApprovalNeed[]): Pick<ApprovalNeed, 'always'> {
  const offers = all.flatMap(({ always }) => (always === undefined ? [] : [always]));
  if (offers.length < all.length) return {};
  const covers = [...new Set(offers.map((offer) => offer.covers))].join('; ');
  return { always: { key: offers.map(({ key }) => key).join('\n'), covers } };
}

/** Covers exactly this call. With any other word, a command may do something else. */
export const alwaysThisCall = (input: JsonObject): NonNullable<ApprovalNeed['always']> => ({
  key: `exactly ${JSON.stringify(input)}`,
  covers: 'this exact call, as long as the files that it names do not change',
});

/**
 * Wraps a target so that a person has to approve each call: `approval: always`, or `strict`. `covers` finds the files
 * that an approval of a call covers. If `isStrict`, a call that may run other files is refused.
 */
export function withApproval(
  target: Target,
  approval: 'always' | 'strict' = 'always',
  isStrict = false,
  covers?: (...asked: Parameters<NonNullable<Target['needs']>>) => Promise<Coverage>,
): Target {
  const what = `${target.kind} "${target.name}"`;
  const grant = `call ${what}`;
  const own: ApprovalNeed = {
    target: what,
    what: `call ${what}`,
    because: `approval: ${approval} of ${what}`,
    grants: [grant],
    ...(approval === 'strict' || isStrict
      ? {}
      : { always: { key: grant, covers: `every call of ${what}, whatever its parameters` } }),
  };
  const covered = async (
    ...asked: Parameters<NonNullable<Target['needs']>>
  ): Promise<ApprovalNeed | undefined> => {
    const [input] = asked;
    const always = own.always === undefined ? {} : { always: alwaysThisCall(input) };
    const need = combineNeeds({ ...own, ...always }, await target.needs?.(...asked));
    return need && covers ? withCoverage(need, await covers(...asked), isStrict) : need;
  };
  const inner = target.needs;
  // Without anything to look up the answer is there at once: the question is asked before the next action can cancel it.
  const needs: NonNullable<Target['needs']> =
    inner === undefined ? () => own : async (...asked) => combineNeeds(own, await inner(...asked));
  return {
    ...target,
    needs: covers === undefined ? needs : covered,
    run: async (call) => {
      if (call.granted?.includes(grant) !== true) throw approvalMissing(what);
      return target.run(call);
    },
  };
}

const approvalMissing = (what: string) =>
  new RuntimeError('not_permitted', `The call of ${what} needs approval, but nobody could be asked.`, {
    hint: `${what} has "approval: always". Change that to "approval: never" to allow it without approval.`,
  });

/** What an approval covers. It counts for nothing else. */
export interface ApprovalScope extends Covered {
  readonly target: string;
  readonly input: JsonObject;
  readonly grants: readonly string[];
  readonly definition?: string;
}

export function approvalScope(
  target: Pick<Target, 'definition'>,
  { target: named, grants, ...need }: ApprovalNeed,
  input: JsonObject,
): ApprovalScope {
  const definition = target.definition?.();
  return {
    target: named,
    input,
    grants,
    ...(definition === undefined ? {} : { definition }),
    ...coveredOf(need),
  };
}

const MAX_CHANGES = 20;

/** Describes what has changed in a call since its approval was requested. Empty if nothing has. */
export function changesSince(asked: ApprovalScope, now: ApprovalScope): readonly string[] {
  const changes = [
    ...(asked.target === now.target ? [] : [`it calls ${now.target}, not ${asked.target}`]),
    ...inputChanges(asked.input, now.input),
    // Requests stored by older versions have no definition.
    ...(asked.definition === undefined || asked.definition === now.definition
      ? []
      : [`the manifest or the code of ${now.target} has changed`]),
    ...fileChanges(asked, now),
  ];
  if (changes.length === 0 && !deepEqual([...asked.grants], [...now.grants]))
    changes.push(
      `it needs permission for ${listed(now.grants)}, but was approved for ${listed(asked.grants)}`,
    );
  return changes.length <= MAX_CHANGES
    ? changes
    : [...changes.slice(0, MAX_CHANGES), `and ${changes.length - MAX_CHANGES} more`];
}

function inputChanges(before: JsonObject, after: JsonObject): readonly string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => {
    const [was, is] = [before[key], after[key]];
    if (was !== undefined && is !== undefined && deepEqual(was, is)) return [];
    if (was === undefined) return [`"${key}" is ${shown(is)}, and was not given`];
    if (is === undefined) return [`"${key}" is not given, and was ${shown(was)}`];
    return [`"${key}" is ${shown(is)}, and was ${shown(was)}`];
  });
}

const MAX_SHOWN = 200;

const shown = (value: Json | undefined): string => clip(JSON.stringify(value ?? null), MAX_SHOWN);

const listed = (grants: readonly string[]): string => (grants.length === 0 ? 'nothing' : grants.join(', '));
