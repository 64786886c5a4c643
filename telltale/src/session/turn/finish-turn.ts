import { referencesIn } from '../../conditions/references/resolve-references.ts';
import { completesStep, isShown } from '../../events/action.ts';
import type { EventBody } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { SessionContext } from '../context.ts';
import type { Guide } from '../guide/guide-port.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import type { Heard, HeardResponse } from './hearing-state.ts';
import { keptFromActing } from './kept-from-acting.ts';

/** What follows a turn. */
export type Next =
  | { readonly kind: 'turn' }
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'stalled'; readonly error: RuntimeError }
  | { readonly kind: 'stopped' };

/** Turns without any tag after which the text counts as the final response. */
const MAX_BARE_TURNS = 3;
/** Turns in a row without an action, a change of metadata or a response. */
const MAX_IDLE_TURNS = 3;
/**
 * Async actions do not hold the next turn, but one that ends within a moment is worth it: the model would only be asked
 * to wait.
 */
const SETTLE_MS = 100;

/** Decides, once the stream has ended and all of it was acted on, whether and how the session goes on. */
export async function finishTurn(context: SessionContext, heard: Heard): Promise<Next> {
  const { stop, scheduler, log, state } = context;
  if (heard.responses.length > 0) await responsesOut(context, heard.responses);
  const final = heard.responses.findLast((response) => response.final);
  if (final !== undefined) {
    await allEnded(context);
    if (stop.reason !== undefined) return { kind: 'stopped' };
    return concludeWith(context, final.stream.text(), final.stream.source());
  }
  if (heard.observed !== undefined) {
    const { observed } = heard;
    await context.reviews.until((done) => scheduler.whenEnded([observed], done));
  }
  if (stop.reason !== undefined) return { kind: 'stopped' };
  if (context.guide !== undefined) return finishLedTurn(context, context.guide, heard);
  if (!heard.tagged && /\S/.test(heard.text)) {
    if (context.manifest.protocol.bare_text === 'final' || state.bareTurns >= MAX_BARE_TURNS) {
      if (context.manifest.protocol.bare_text !== 'final') log.append(noTags(context, heard.text));
      await allEnded(context);
      if (stop.reason !== undefined) return { kind: 'stopped' };
      return concludeWith(context, heard.text.trim(), heard.text);
    }
    tellOnce(context, 'no_tags', noTags(context, heard.text).message);
    return { kind: 'turn' };
  }
  const running = scheduler.tracked();
  await letSettle(context, running);
  if (stop.reason !== undefined) return { kind: 'stopped' };
  if (state.idleTurns >= MAX_IDLE_TURNS && running.length === 0)
    return { kind: 'stalled', error: stalled(state) };
  const reminder = keptFromActing(state.news.faults).length > 0 ? IN_VAIN : REMINDER;
  remind(context, running, reminder);
  return { kind: 'turn' };
}

/** Only the run that leads a session ends it: a final response does not, and who does nothing is told by the guide. */
async function finishLedTurn(context: SessionContext, guide: Guide, heard: Heard): Promise<Next> {
  const { stop, scheduler, state } = context;
  const running = scheduler.tracked();
  const completes = running.some((id) => {
    const known = state.actions.get(id);
    return known !== undefined && completesStep(known.action);
  });
  if (completes) await allEnded(context);
  else await letSettle(context, running);
  if (stop.reason !== undefined) return { kind: 'stopped' };
  if (state.task?.open === undefined && !completes) {
    if (heard.responses.some(({ inVain }) => inVain))
      tellOnce(context, 'step_open', DIALECT_WORDS[context.manifest.dialect].stepOpen);
    else if (!heard.tagged && /\S/.test(heard.text))
      tellOnce(context, 'no_tags', noTags(context, heard.text).message);
  }
  guide.after();
  if (state.task?.open === undefined) remind(context, scheduler.tracked(), LED_REMINDER);
  return { kind: 'turn' };
}

/** After a restart it may have been said before. */
function tellOnce({ log, state }: SessionContext, code: string, message: string): void {
  if (!state.news.faults.some((fault) => fault.code === code)) log.append({ type: 'fault', code, message });
}

function remind({ state, log }: SessionContext, running: readonly string[], reminder: string): void {
  const reminded = state.news.messages.some(({ text }) => text === reminder);
  if (state.idleTurns > 0 && running.length === 0 && !reminded)
    log.append({ type: 'message.received', from: 'runtime', text: reminder });
}

/** Waits a moment for what is about to end, or for more where the model has nothing to do but wait. */
async function letSettle(context: SessionContext, running: readonly string[]): Promise<void> {
  const { state, scheduler, stop } = context;
  if (state.idleTurns > 0 && running.length > 0) {
    // The model has nothing to do but wait: so the runtime waits, unless somebody has a word for it.
    if (state.news.messages.length === 0) await firstEnd(context, running);
  } else if (running.length > 0) {
    await stop.until((done) => {
      const disarm = context.clock.after(SETTLE_MS, done);
      scheduler.whenEnded(running, () => {
        disarm();
        done();
      });
    });
    // Asking the model again would only cost: there is nothing that it does not know.
    if (context.reviews.isOnlyWaiting() && state.news.messages.length === 0) await firstEnd(context, running);
  }
}

/** Waits until one of these has ended, or a message has come. */
async function firstEnd(
  { reviews, scheduler, inbox }: SessionContext,
  ids: readonly string[],
): Promise<void> {
  await reviews.until((done) => {
    const forget = inbox.onMessage(done);
    const ended = () => {
      forget();
      done();
    };
    for (const id of ids) scheduler.whenEnded([id], ended);
  });
}

/** Waits until all of these are on the log: a response belongs to the turn it was said in. */
export async function responsesOut(
  { reviews }: SessionContext,
  responses: readonly HeardResponse[],
): Promise<void> {
  for (const { stream } of responses) await reviews.until(stream.whenOut);
}

/** Waits until no tracked action is left, those that ended ones set off included. */
async function allEnded({ scheduler, stop, reviews }: SessionContext): Promise<void> {
  for (let ids = scheduler.tracked(); ids.length > 0 && stop.reason === undefined; ids = scheduler.tracked())
    await reviews.until((done) => scheduler.whenEnded(ids, done));
}

/** The session ends with this response, unless something happened that the model had not seen when it wrote it. */
function concludeWith(context: SessionContext, text: string, source: string): Next {
  const { log } = context;
  const undone = whyUndone(context, source);
  const output = undone === undefined ? context.checkOutput(text) : undefined;
  log.append({ type: 'response', text, final: output?.ok === true });
  if (undone !== undefined) log.append({ type: 'fault', code: 'final_undone', message: undone });
  else if (output?.ok === false) log.append({ type: 'fault', code: 'bad_output', message: output.problem });
  if (output?.ok !== true) return { kind: 'turn' };
  return { kind: 'completed', result: output.value };
}

const FAILED = new Set(['failed', 'cancelled', 'interrupted']);

function whyUndone({ state, manifest }: SessionContext, source: string): string | undefined {
  const { undone, again } = DIALECT_WORDS[manifest.dialect];
  const message = state.news.messages.at(-1);
  if (message !== undefined) return `${undone}: a message came in while you wrote it. Read it, then answer.`;
  for (const id of state.news.results) {
    const action = state.actions.get(id);
    if (action === undefined) continue;
    const failed =
      FAILED.has(action.status) || (action.status === 'skipped' && action.skipped?.reason !== 'if');
    if (failed && !isShown(action.action))
      return `${undone}: a <foreach> of yours did not run, which you had not seen. Mend it, or say so ${again}.`;
    if (failed)
      return `${undone}: the action "${id}" (${action.action.name}) ended as ${action.status}, which you had not seen. Look at its result, then mend it or say so ${again}.`;
  }
  const faults = keptFromActing(state.news.faults);
  if (faults.length > 0)
    return `${undone}: something else in your turn did not act (${faults.join(', ')}), which you had not seen. Read why, then do it again or say so ${again}.`;
  if (manifest.protocol.final_with_actions === 'bind') return undefined;
  const named = new Set(referencesIn(source).map(({ name }) => name));
  const unnamed = state.news.results.find((id) => {
    const action = state.actions.get(id)?.action;
    return (
      action !== undefined &&
      !named.has(id) &&
      !named.has(action.base ?? id) &&
      !(action.output_key !== undefined && named.has(action.output_key)) &&
      !named.has(action.name)
    );
  });
  if (unnamed === undefined) return undefined;
  return `${undone}: it shares its turn with the action "${unnamed}", whose result it does not name. Look at the result first, or name it as $${unnamed}.`;
}

const noTags = ({ manifest }: SessionContext, text: string): Extract<EventBody, { type: 'fault' }> => ({
  type: 'fault',
  code: 'no_tags',
  message:
    manifest.dialect === 'tags' && /^\s*(?:`{3}|~{3})/.test(text)
      ? 'Your whole turn stood in a code fence, where nothing is a tag. Write the tags outside of it.'
      : DIALECT_WORDS[manifest.dialect].bare,
});

const REMINDER =
  'Your last turn brought no action, no metadata and no response. Go on with the task: act, or give your final response.';

const LED_REMINDER =
  'Your last turn brought no action, no metadata and no response. Go on with the step: act, or complete it.';

const IN_VAIN =
  'Nothing in your last turn took effect: your mistakes say why. Mend them and go on, or give your final response.';

function stalled({ idleTurns, id, news }: SessionState): RuntimeError {
  const mistake = news.faults.at(-1);
  const last = mistake === undefined ? '' : ` Its last mistake was ${mistake.code}: ${mistake.message}`;
  return new RuntimeError(
    'stalled',
    `The model did nothing for ${idleTurns} turns in a row: no action, no metadata, no response.${last}`,
    { hint: `Give it a hint and go on: telltale steer ${id} "…", then telltale resume ${id}.` },
  );
}
