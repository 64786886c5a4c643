import { referencesInParameters } from '../../expressions/references/resolve-references.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import {
  type ActionState,
  cameToNothing,
  type DeclaredAction,
  isForEach,
  isInBackground,
  isReported,
  isShown,
  newestOf,
  writtenId,
} from '../../log/action.ts';
import type { Cause } from '../../log/event.ts';
import { turnsInOne } from '../../log/fold-turns.ts';
import type { SessionState } from '../../log/state.ts';
import { isEmptyNews } from '../../log/turn-record.ts';
import type { ActionScheduler } from '../../scheduler/action-scheduler.ts';
import { loopOf } from '../../scheduler/foreach.ts';
import { baseOf } from '../../scheduler/names.ts';
import { leadsThread } from '../internal/handoff.ts';
import type { SessionContext } from '../session-context.ts';
import type { TurnResponse } from './active-turn.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import { preventedActions } from './groups.ts';
import { isComplete, referencesInResponse, sourceOf, stopWaiting, whenComplete } from './response-stream.ts';

/** What a final response says, and what the model wrote for it. */
interface Final {
  readonly text: string;
  readonly source: string;
}

/**
 * Waits for what a final response rests on, and ends the session with it if nothing speaks against that. One that rests
 * on results which the model has not seen is held: the model sees them first.
 */
export async function finishWithFinal(context: SessionContext, { stream }: TurnResponse): Promise<AfterTurn> {
  const final = meant(context.state, { text: stream.text, source: sourceOf(stream) });
  if (unseenBy(context, final.source).length === 0) await allEndedOrSpokenTo(context);
  else await settle(context);
  await context.inbox.underWay(); // what was said before the end is decided is heard
  if (context.stop.reason !== undefined) return { kind: 'stopped' };
  return concludeWith(context, final);
}

/** The names of unseen results that a response contains only in code, where they are not replaced. */
function namedOnlyInCode(
  { state, manifest }: SessionContext,
  source: string,
  unseen: readonly string[],
): readonly string[] {
  if (unseen.length === 0) return [];
  const outsideOfCode = new Set(
    referencesInResponse(source, manifest.output !== undefined).map(
      (each) => /[\w-]+/.exec(each.source)?.[0],
    ),
  );
  const names = unseen.flatMap((id) => {
    const action = state.actions.get(id)?.action;
    return [writtenId(id), action?.output_key, action?.name].filter((name) => name !== undefined);
  });
  return [...new Set(names)]
    .filter((name) => !outsideOfCode.has(name) && holdsName(source, name))
    .map((name) => `$${name}`);
}

/** Whether a text has `$name`, and not `$$name` or a longer one. */
function holdsName(text: string, name: string): boolean {
  const pieces = text.split(`$${name}`);
  return pieces.some(
    (piece, at) => at > 0 && !/^[\w-]/.test(piece) && pieces[at - 1]?.endsWith('$') === false,
  );
}

const notInCode = (names: readonly string[]): string =>
  `Your response names ${names.join(', ')} in code, where nothing is replaced: the user would read that as it is. Name it outside of code, or write out what you want to show.`;

/** An empty final response confirms the one that is held. */
function meant({ held }: SessionState, final: Final): Final {
  return held === undefined || /\S/.test(final.text) ? final : { text: held, source: '' };
}

/** The session ends with this response, unless something happened that the model had not seen when it wrote it. */
export function concludeWith(context: SessionContext, { text, source }: Final): AfterTurn {
  const { log } = context;
  const undone = whyUndone(context, source);
  const output = undone === undefined ? context.deps.prepared.checkOutput(text) : undefined;
  const unseen = output?.ok === true ? unseenBy(context, source) : [];
  const final = output?.ok === true && unseen.length === 0;
  log.append({ type: 'response', text, final, ...(unseen.length === 0 ? {} : { held: unseen }) });
  log.speaking = undefined; // a chat may wait for long, and need not keep the turn
  if (undone !== undefined) log.append({ type: 'fault', code: 'final_undone', message: undone });
  else if (output?.ok === false) log.append({ type: 'fault', code: 'bad_output', message: output.problem });
  const inCode = namedOnlyInCode(context, source, unseen);
  if (inCode.length > 0) log.append({ type: 'fault', code: 'reference_in_code', message: notInCode(inCode) });
  if (!final) return { kind: 'turn' };
  return completedWith(context, output.value);
}

/** The session ends with this; in a chat only the exchange does. */
export function completedWith({ state, inbox, manifest }: SessionContext, result: Json): AfterTurn {
  if (state.chat !== true && !leadsThread(manifest, state)) inbox.hearNoMore();
  return { kind: 'completed', result };
}

function whyUndone(context: SessionContext, source: string): string | undefined {
  const { state, manifest } = context;
  const { undone, again } = DIALECT_WORDS[manifest.dialect];
  const message = state.news.messages.at(-1);
  if (message !== undefined) return `${undone}: a message came in while you wrote it. Read it, then answer.`;
  let named: ReadonlySet<string> | undefined;
  for (const id of state.news.results) {
    const known = state.actions.get(id);
    if (known === undefined || !cameToNothing(known)) continue;
    const { action } = known;
    if (!isShown(action))
      return `${undone}: a <foreach> of yours did not run, which you had not seen. Fix it, or say so ${again}.`;
    named ??= namedIn(context, source);
    if (isInBackground(known) && !isNamed(named, action)) continue; // nobody waited for it
    return `${undone}: the action "${writtenId(id)}" (${action.name}) ended as ${known.status}, which you had not seen. Look at its result, then fix it or say so ${again}.`;
  }
  const faults = preventedActions(state.news.faults);
  return faults.length === 0
    ? undefined
    : `${undone}: something else in your turn did not act (${faults.join(', ')}), which you had not seen. Read why, then do it again or say so ${again}.`;
}

/**
 * The tracked actions of the turn that a final response does not cover. It covers those that it names, and what these
 * depend on. Where it was written, the model had seen the results of earlier turns, and none of this one.
 */
function unseenBy(context: SessionContext, source: string): readonly string[] {
  const { state, scheduler, manifest } = context;
  const asked = manifest.protocol.final_with_actions;
  if (asked === 'accept' || asked === 'bind') return [];
  const since = state.turn - turnsInOne(state.turns) + 1;
  const unseen = [...state.news.results, ...scheduler.tracked()].flatMap((id) => {
    const known = state.actions.get(id);
    return known !== undefined && known.turn >= since && isAwaited(known) ? [known.action] : [];
  });
  if (unseen.length === 0) return [];
  const covered = coveredBy(namedIn(context, source), unseen, context);
  return unseen.flatMap((action) => (covered.has(action) ? [] : [action.id]));
}

/** One whose `if` did not hold has no result. */
const isAwaited = (known: ActionState): boolean =>
  isReported(known.action) &&
  isShown(known.action) &&
  !isInBackground(known) &&
  (known.status !== 'skipped' || cameToNothing(known));

/** The actions, and the actions of a `<foreach>`, whose results a response names by id, `output_key` or target. */
const namedIn = ({ manifest, scheduler }: SessionContext, source: string): ReadonlySet<string> =>
  new Set(
    referencesInResponse(source, manifest.output !== undefined).flatMap(
      (each) => idOf(scheduler, each.source) ?? [],
    ),
  );

function idOf(scheduler: ActionScheduler, reference: string): string | undefined {
  const found = scheduler.resolveReference(reference);
  return found.state === 'unknown' || found.id === undefined ? undefined : baseOf(found.id);
}

const isNamed = (names: ReadonlySet<string>, { id, base, group, within = [] }: DeclaredAction): boolean =>
  names.has(id) ||
  (base !== undefined && names.has(base)) ||
  (group !== undefined && names.has(group)) ||
  within.some((each) => names.has(each));

function coveredBy(
  named: ReadonlySet<string>,
  among: readonly DeclaredAction[],
  context: SessionContext,
): ReadonlySet<DeclaredAction> {
  const covered = new Set(among.filter((action) => isNamed(named, action)));
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const action of covered) {
    const needed = neededBy(action, context);
    for (const each of among) if (isNamed(needed, each)) covered.add(each);
  }
  return covered;
}

/** What an action depends on: by `depends_on`, by its parameters, and by the list of the `<foreach>` that made it. */
function neededBy(action: DeclaredAction, { state, scheduler }: SessionContext): ReadonlySet<string> {
  const needed = new Set<string>();
  const loop = action.base === undefined ? undefined : loopMaking(state, action.base);
  for (const each of loop === undefined ? [action] : [action, loop]) {
    for (const id of each.depends_on ?? []) needed.add(each.references?.[id] ?? newestOf(state, id));
    const parameters = isForEach(each) ? loopOf(each).in : each.parameters;
    for (const { name } of each.literal === true ? [] : referencesInParameters(parameters)) {
      const id = each.references?.[name] ?? idOf(scheduler, `$${name}`);
      needed.add(id ?? name);
    }
  }
  return needed;
}

function loopMaking({ actions }: SessionState, base: string): DeclaredAction | undefined {
  for (const { action } of actions.values())
    if (isForEach(action) && loopOf(action).actions.some(({ id }) => id === base)) return action;
  return undefined;
}

/**
 * Waits at the end of a turn until its tracked actions have ended, up to `limits.settle`; undefined where there is none.
 * A message ends the wait. What waits for a person keeps the turn waiting, and that time does not count.
 */
export function settle(context: SessionContext): Promise<void> | undefined {
  return context.scheduler.tracked().length === 0 ? undefined : settled(context);
}

async function settled(context: SessionContext): Promise<void> {
  const { scheduler, stop, state, clock, manifest } = context;
  const full = manifest.limits.settle.ms;
  let left = full;
  let resting: readonly string[] = [];
  for (;;) {
    const open = scheduler.tracked();
    if (open.length === 0 || stop.reason !== undefined || state.news.messages.length > 0) return;
    const moving = scheduler.trackedAndActive();
    if (moving.some((id) => resting.includes(id))) left = full; // a person has decided: it runs only now
    resting = open.filter((id) => !moving.includes(id));
    if (left <= 0 && resting.length === 0) return;
    const began = clock.monotonic();
    await oneEnded(context, { open, moving, ms: moving.length > 0 && left > 0 ? left : undefined });
    if (moving.length > 0) left -= clock.monotonic() - began;
  }
}

interface Awaited {
  readonly open: readonly string[];
  /** Those that wait for nobody. */
  readonly moving: readonly string[];
  /** How long to wait at the most. */
  readonly ms: number | undefined;
}

/** Waits until one of these has ended or waits for a person, or a person has decided; for a message; and for the time. */
function oneEnded(
  { reviews, scheduler, inbox, clock }: SessionContext,
  { open, moving, ms }: Awaited,
): Promise<void> | undefined {
  let isOver = () => {};
  const moved = () => {
    const now = scheduler.trackedAndActive();
    if (now.length !== moving.length || now.some((id) => !moving.includes(id))) isOver();
  };
  return reviews.untilMoved((done) => {
    isOver = done;
    const deafen = inbox.onMessage(done);
    const forget = scheduler.whenAnyEnded(open, done);
    const disarm = ms === undefined ? undefined : clock.after(ms, done);
    return () => {
      deafen();
      forget();
      disarm?.();
    };
  }, moved);
}

/**
 * What runs in the background, where asking the model again would only tell it that: it was told so before, and nothing
 * else is new.
 */
export function isOnlyInBackground({ state }: SessionContext): boolean {
  if (!isEmptyNews(state.news)) return false;
  const told = state.turns.at(-1)?.running ?? [];
  let isRunning = false;
  for (const id of state.open) {
    const action = state.actions.get(id)?.action;
    if (action === undefined || !isReported(action) || !isShown(action)) continue;
    if (!told.includes(id)) return false;
    isRunning = true;
  }
  return isRunning;
}

/** Waits until there is something that the model does not know. */
export async function untilNews(context: SessionContext): Promise<void> {
  const { reviews, state, stop, log } = context;
  while (stop.reason === undefined && state.failing === undefined && isOnlyInBackground(context))
    await reviews.until((done) => {
      const told = log.subscribe(() => {
        if (!isOnlyInBackground(context)) done();
      });
      // It may have come before somebody listened.
      if (!isOnlyInBackground(context)) done();
      return told;
    });
}

/**
 * Waits until all of these are on the log: a response belongs to the turn it was said in. Where it waits at a name on
 * which people decide, who may take days, and the agent is spoken to, it goes out without.
 */
export async function responsesComplete(
  { reviews, stop }: SessionContext,
  responses: readonly TurnResponse[],
): Promise<void> {
  for (const { stream } of responses) {
    while (!isComplete(stream) && stop.reason === undefined && !reviews.hasUserMessage())
      await reviews.untilMessage((done) => {
        whenComplete(stream, done);
        return undefined;
      });
    if (stop.reason === undefined && reviews.hasUserMessage()) stopWaiting(stream);
  }
}

/**
 * Waits until no tracked action is left, those that ended ones set off included; unless the agent is spoken to while all
 * that is left waits for people.
 */
export async function allEndedOrSpokenTo({ scheduler, stop, reviews }: SessionContext): Promise<void> {
  for (
    let ids = scheduler.tracked();
    ids.length > 0 && stop.reason === undefined && !reviews.hasUserMessage();
    ids = scheduler.tracked()
  )
    await reviews.untilMessage((done) => scheduler.whenAllEnded(ids, done));
}

/** What follows a turn; `over`: of a chat, too, since an agent ended the conversation. `cause` is what ended the session, where that is not on its own log. */
export type AfterTurn =
  | { readonly kind: 'turn' }
  | {
      readonly kind: 'completed';
      readonly result: Json;
      readonly cause?: Cause | undefined;
      readonly over?: true;
    }
  | { readonly kind: 'stalled'; readonly error: RuntimeError }
  | { readonly kind: 'stopped' };
