import { quote } from '../../conditions/issue.ts';
import { completesStep } from '../../events/action.ts';
import { declaredIn } from '../../events/action-id.ts';
import type { SessionState } from '../../events/state.ts';
import { NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { isLoop } from '../../scheduler/loops.ts';
import type { SessionContext } from '../context.ts';
import { loopNotMade, notMade } from './declare.ts';
import { type FaultBody, faultIn } from './group-faults.ts';
import type { Groups } from './groups.ts';

/** What a turn that is read again asked for. */
export interface ReheardActions {
  readonly context: SessionContext;
  readonly groups: Groups;
  /** What is to be said of actions that could not be made. */
  readonly faults: FaultBody[];
  /** The same of those that are in its text but were not put on the log. */
  readonly lost: FaultBody[];
  /** How many `<foreach>` of it are on the log, and how many were read. */
  readonly loopsBegun: number;
  loops: number;
  /** Whether the step in hand was said to be done: what follows was not begun. */
  completed: boolean;
}

export const createReheardActions = (
  context: SessionContext,
  groups: Groups,
  faults: FaultBody[],
): ReheardActions => ({
  context,
  groups,
  faults,
  lost: [],
  loopsBegun: loopsIn(context.state),
  loops: 0,
  completed: false,
});

/** The sync action at which the stream was cut, if it is one. */
export function cutsAgain(
  asked: ReheardActions,
  event: Extract<ParserEvent, { readonly type: 'action' }>,
): string | undefined {
  const { context, groups } = asked;
  const { state, manifest, guide, deps } = context;
  const action = deps.prepared.toAction(event, NONE);
  if (!action.ok) asked.faults.push(faultIn(groups, notMade(action.error)));
  if (!action.ok || asked.completed) return undefined;
  asked.completed = guide !== undefined && completesStep(action.value);
  const id = declaredIn(state.actions, state.turn, event.id);
  if (id === undefined) {
    if (!wasTaken(state, event.id)) asked.lost.push(notRun(event.id, groups));
    return undefined;
  }
  const isObserved = manifest.protocol.on_sync === 'observe' && action.value.mode === 'sync';
  return isObserved && groups.groups.length === 0 ? id : undefined;
}

/** Whether the model was told that the id is another action's. */
const wasTaken = ({ news }: SessionState, id: string): boolean =>
  news.faults.some(({ code, message }) => code === 'duplicate_id' && message.includes(quote(id)));

export function loopAgain(
  asked: ReheardActions,
  event: Extract<ParserEvent, { readonly type: 'foreach' }>,
): void {
  const { context, groups, faults, lost } = asked;
  if (asked.completed) return;
  const { toAction } = context.deps.prepared;
  const bad = loopNotMade(
    context,
    event.actions.map((each) => toAction(each, NONE)),
  );
  if (bad !== undefined) faults.push(faultIn(groups, bad));
  else if (++asked.loops > asked.loopsBegun) lost.push(...event.actions.map(({ id }) => notRun(id, groups)));
}

/** Whoever depends on all of the `<parallel>`s that it was to stand in must not begin without it. */
const notRun = (id: string, { groups }: Pick<Groups, 'groups'>): FaultBody => ({
  type: 'fault',
  code: 'not_run',
  message: `The action "${id}" of your last message was not run: the runtime was stopped before it could be. Ask for it again if it is still needed.`,
  ...(groups.length === 0 ? {} : { groups: [...groups] }),
});

/** How many `<foreach>` of the turn in hand are on the log. */
function loopsIn({ actions, turn }: SessionState): number {
  let found = 0;
  for (const known of actions.values()) if (known.turn === turn && isLoop(known.action)) found++;
  return found;
}
