import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import {
  type ActionState,
  type ActionStatus,
  type DeclaredAction,
  hasEnded,
  idFor,
  isForEach,
  isShown,
  newestOf,
  writtenId,
} from '../../log/action.ts';
import { reviewOf } from '../../log/reviews.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { loopOf } from '../../scheduler/foreach.ts';
import { refuseArtifacts } from '../../tools/access/permissions.ts';
import type { ArtifactVersion } from '../../tools/artifacts/artifacts.ts';
import { type Definition, type InternalDeps, noSuchAction } from './definition.ts';

const DEFAULT_LISTED = 50;
const MAX_LISTED = 200;

/** A record, so that a status which is missing here does not compile. */
const STATUSES: Readonly<Record<ActionStatus, true>> = {
  waiting: true,
  running: true,
  completed: true,
  failed: true,
  skipped: true,
  cancelled: true,
  interrupted: true,
  compensated: true,
};

export const listActions: Definition = {
  name: 'list_actions',
  description: 'Lists your actions with their names, statuses and times, the latest last.',
  idempotent: true,
  // A prompt shows each result once, so few agents ever need the list.
  isTaught: () => false,
  parameters: {
    type: 'object',
    properties: {
      status: { enum: Object.keys(STATUSES), description: 'Only actions with this status.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_LISTED,
        description: `How many (default ${DEFAULT_LISTED}).`,
      },
    },
    additionalProperties: false,
  },
  run: async (input, { state }, own) => {
    const { status, limit = DEFAULT_LISTED } = input as { status?: ActionStatus; limit?: number };
    const fitting = [...state.actions.values()].filter(
      (each) =>
        isShown(each.action) && each.action.id !== own && (status === undefined || each.status === status),
    );
    const left = fitting.length - limit;
    return {
      actions: fitting.slice(-limit).map((each) => listed(each, state)),
      ...(left > 0 ? { left_out: left } : {}),
    };
  },
};

function listed({ action, status, ms }: ActionState, state: SessionState): JsonObject {
  const waits = status === 'waiting' && reviewOf(state, action.id) !== undefined;
  return {
    id: idFor(state, action.id),
    name: action.name,
    status,
    ...(ms === undefined ? {} : { ms }),
    ...(waits ? { waits_for: "a person's approval" } : {}),
  };
}

export const cancelAction: Definition = {
  name: 'cancel_action',
  description: 'Stops an action that has not ended.',
  idempotent: false,
  // What else takes so long that a model would stop it?
  isTaught: (_, targets) =>
    targets.some(({ kind, name }) => kind === 'agent' || kind === 'workflow' || name === 'shell'),
  parameters: {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  },
  run: async (input, { state, cancel }, own) => {
    const { id: asked } = input as { id: string };
    const id = newestOf(state, asked);
    const known = state.actions.get(id);
    const reason = `Cancelled by the action "${writtenId(own)}".`;
    if (known === undefined) {
      const open = openMembers(state, id);
      if (open === undefined) throw noSuchAction(asked, state);
      if (open.some(({ action }) => action.id === own)) throw cancelsItself(writtenId(own));
      if (open.length === 0) throw endedAlready(`All of "${asked}" has ended already.`);
      const also = alsoMade(open, id).map(writtenId);
      await cancel(id, reason);
      return { id: asked, status: 'cancelled', ...(also.length === 0 ? {} : { also }) };
    }
    if (id === own) throw cancelsItself(asked);
    if (hasEnded(known.status))
      throw endedAlready(`The action "${asked}" has ended already: it is ${known.status}.`);
    await cancel(id, reason);
    return { id: asked, status: known.status };
  },
};

/** What has not ended of a `<parallel>` or of what a `<foreach>` makes of an action; undefined where the id is of neither. */
function openMembers({ actions }: SessionState, id: string): readonly ActionState[] | undefined {
  const members = [...actions.values()].filter(({ action }) =>
    isForEach(action) ? loopOf(action).actions.some((each) => isOf(each, id)) : isOf(action, id),
  );
  if (members.length === 0) return undefined;
  return members.filter(({ status }) => !hasEnded(status));
}

/** What else comes to nothing with these: a `<foreach>` that waits for its list has made none of its actions, and ends whole. */
const alsoMade = (open: readonly ActionState[], id: string): readonly string[] =>
  open
    .flatMap(({ action }) => (isForEach(action) ? loopOf(action).actions : []))
    .flatMap((each) => (isOf(each, id) ? [] : [each.id]));

/** A model knows an action of a `<foreach>` by the id that it wrote. */
const isOf = ({ id, base, group, within }: DeclaredAction, asked: string): boolean =>
  id === asked || base === asked || group === asked || within?.includes(asked) === true;

const cancelsItself = (id: string) =>
  new RuntimeError('bad_parameters', `The action "${id}" cannot cancel itself.`, {
    hint: 'Name the action that should stop.',
  });

const endedAlready = (message: string) =>
  new RuntimeError('action_ended', message, {
    hint: 'Only what waits or runs can be cancelled; "rollback" undoes what was completed.',
  });

/** How an agent stands in the versions that it writes. */
export const authorOf = ({ name }: AgentManifest): string => `agent:${name}`;

export const mayNotRead = ({ permissions }: AgentManifest): string | undefined =>
  refuseArtifacts(permissions, 'read')?.hint;

/** One that may only read still writes what it is the author of. */
export const writesNone = ({ permissions }: AgentManifest): string | undefined =>
  permissions.artifacts.length > 0 ? undefined : refuseArtifacts(permissions, 'write')?.hint;

/**
 * Throws `not_permitted` where an agent may not write an artifact: it may write any with `permissions.artifacts: [write]`,
 * and without it those whose first version is its own.
 */
export async function mustBeAllowedToWrite(name: string, deps: InternalDeps): Promise<void> {
  const { manifest } = deps;
  const refusal = refuseArtifacts(manifest.permissions, 'write');
  if (refusal === undefined) return;
  const { artifacts } = await deps.artifactStore();
  const first = await artifacts.read(name, 1);
  if (first?.author !== authorOf(manifest)) throw refusal;
}

/** Puts a new version on the log, and says what the model needs of it. */
export function written({ append }: InternalDeps, made: ArtifactVersion) {
  const { name: artifact, version, parent, restores, author: by } = made;
  append({
    type: 'artifact.written',
    artifact,
    version,
    ...(parent === undefined ? {} : { parent }),
    ...(restores === undefined ? {} : { restores }),
    by,
  });
  return { name: artifact, version };
}
