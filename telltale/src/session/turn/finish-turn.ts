import { cameToNothing, isShown } from '../../events/action.ts';
import { writtenId } from '../../events/action-id.ts';
import type { SessionState } from '../../events/state.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { OUTPUT_LIMIT } from '../../prompt/own-words.ts';
import { baseOf } from '../../scheduler/names.ts';
import type { Resolution } from '../../scheduler/scheduler.ts';
import type { SessionContext } from '../context.ts';
import { bareText } from './bare-text.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import { finishLedTurn } from './finish-led-turn.ts';
import type { Heard } from './hearing-state.ts';
import { keptFromActing } from './kept-from-acting.ts';
import type { Next } from './next.ts';
import { lacksNotes, noTags, remind, tellOnce } from './remind.ts';
import { referencesInResponse } from './response-reader.ts';
import { sourceOf } from './response-stream.ts';
import { allEndedOrSpokenTo, aMoment, responsesOut, stillOnly } from './settle-actions.ts';

/** Turns without any tag after which the text counts as the final response. */
const MAX_BARE_TURNS = 3;
/** Turns in a row without an action, a change of metadata or a response. */
const MAX_IDLE_TURNS = 3;

/**
 * Decides, once the stream has ended and all of it was acted on, whether and how the session goes on. A promise where
 * something has to be waited for: a turn that only acted, and whose actions have ended, needs none.
 */
export function finishTurn(context: SessionContext, heard: Heard): Promise<Next> | Next {
  const { stop, guide } = context;
  const isPlain = heard.tagged && heard.responses.length === 0 && heard.observed === undefined;
  if (!isPlain || guide !== undefined) return finishWith(context, heard);
  return stop.reason === undefined ? goOn(context) : STOPPED;
}

async function finishWith(context: SessionContext, heard: Heard): Promise<Next> {
  const { stop, scheduler, log, state } = context;
  if (heard.responses.length > 0) await responsesOut(context, heard.responses);
  const final = heard.responses.findLast((response) => response.final);
  if (final !== undefined) {
    await allEndedOrSpokenTo(context);
    await context.inbox.underWay(); // what was said before the end is decided is heard
    if (stop.reason !== undefined) return { kind: 'stopped' };
    return concludeWith(context, final.stream.text, sourceOf(final.stream));
  }
  if (heard.observed !== undefined) {
    const { observed } = heard;
    await context.reviews.untilSpokenTo((done) => scheduler.whenEnded([observed], done));
  }
  if (stop.reason !== undefined) return { kind: 'stopped' };
  if (context.guide !== undefined) return finishLedTurn(context, context.guide, heard);
  const bare = bareText(context, heard);
  if (bare !== undefined) {
    if (context.manifest.protocol.bare_text === 'final' || state.bareTurns >= MAX_BARE_TURNS) {
      if (context.manifest.protocol.bare_text !== 'final') log.append(noTags(context, heard.text));
      await allEndedOrSpokenTo(context);
      await context.inbox.underWay();
      if (stop.reason !== undefined) return { kind: 'stopped' };
      return concludeWith(context, bare.trim(), bare);
    }
    tellOnce(context, 'no_tags', noTags(context, heard.text).message);
    return { kind: 'turn' };
  }
  return goOn(context);
}

const STOPPED: Next = { kind: 'stopped' };
const TURN: Next = { kind: 'turn' };

/** The model is asked again, once what is about to end has ended. */
function goOn(context: SessionContext): Promise<Next> | Next {
  const running = context.scheduler.tracked();
  const moment = aMoment(context, running);
  return moment === undefined
    ? afterMoment(context, running)
    : moment.then(() => afterMoment(context, running));
}

function afterMoment(context: SessionContext, running: readonly string[]): Promise<Next> | Next {
  const more = stillOnly(context, running);
  return more === undefined ? afterAll(context, running) : more.then(() => afterAll(context, running));
}

function afterAll(context: SessionContext, running: readonly string[]): Next {
  const { stop, state } = context;
  if (stop.reason !== undefined) return STOPPED;
  if (state.idleTurns >= MAX_IDLE_TURNS && running.length === 0)
    return { kind: 'stalled', error: stalled(state) };
  if (isAlwaysCut(state)) return { kind: 'stalled', error: alwaysCut(state) };
  const reminder = keptFromActing(state.news.faults).length > 0 ? IN_VAIN : REMINDER;
  if (!lacksNotes(state)) remind(context, running, reminder);
  return TURN;
}

/** The session ends with this response, unless something happened that the model had not seen when it wrote it. */
function concludeWith(context: SessionContext, text: string, source: string): Next {
  const { log } = context;
  const undone = whyUndone(context, source);
  const output = undone === undefined ? context.edges.prepared.checkOutput(text) : undefined;
  log.append({ type: 'response', text, final: output?.ok === true });
  log.speaking = undefined; // a chat may wait for long, and need not keep the turn
  if (undone !== undefined) log.append({ type: 'fault', code: 'final_undone', message: undone });
  else if (output?.ok === false) log.append({ type: 'fault', code: 'bad_output', message: output.problem });
  if (output?.ok !== true) return { kind: 'turn' };
  return completedWith(context, output.value);
}

/** The session ends with this; in a chat only the exchange does. */
export function completedWith({ state, inbox }: SessionContext, result: Json): Next {
  if (state.chat !== true) inbox.hearNoMore();
  return { kind: 'completed', result };
}

function whyUndone({ state, manifest, scheduler }: SessionContext, source: string): string | undefined {
  const { undone, again } = DIALECT_WORDS[manifest.dialect];
  const message = state.news.messages.at(-1);
  if (message !== undefined) return `${undone}: a message came in while you wrote it. Read it, then answer.`;
  for (const id of state.news.results) {
    const action = state.actions.get(id);
    if (action === undefined) continue;
    if (!cameToNothing(action)) continue;
    if (!isShown(action.action))
      return `${undone}: a <foreach> of yours did not run, which you had not seen. Mend it, or say so ${again}.`;
    return `${undone}: the action "${writtenId(id)}" (${action.action.name}) ended as ${action.status}, which you had not seen. Look at its result, then mend it or say so ${again}.`;
  }
  const faults = keptFromActing(state.news.faults);
  if (faults.length > 0)
    return `${undone}: something else in your turn did not act (${faults.join(', ')}), which you had not seen. Read why, then do it again or say so ${again}.`;
  if (manifest.protocol.final_with_actions === 'bind') return undefined;
  const named = new Set(
    referencesInResponse(source, manifest.output !== undefined).map((each) =>
      idNamed(scheduler.resolve(each.source)),
    ),
  );
  const unnamed = state.news.results.find((id) => {
    const action = state.actions.get(id)?.action;
    return action !== undefined && !named.has(action.base ?? id);
  });
  if (unnamed === undefined) return undefined;
  return `${undone}: it shares its turn with the action "${writtenId(unnamed)}", whose result it does not name. Look at the result first, or name it as $${writtenId(unnamed)}.`;
}

/** The action, or the action of a `<foreach>`, whose result a reference stands for. */
const idNamed = (found: Resolution): string | undefined =>
  found.state === 'unknown' || found.id === undefined ? undefined : baseOf(found.id);

const REMINDER =
  'Your last turn brought no action, no metadata and no response. Go on with the task: act, or give your final response.';

const IN_VAIN =
  'Nothing in your last turn took effect: your mistakes say why. Mend them and go on, or give your final response.';

/** Turns in a row that the provider's output limit ended. */
const MAX_CUT_TURNS = 3;

function isAlwaysCut({ news, turns }: SessionState): boolean {
  const told = [news, ...turns.slice(1 - MAX_CUT_TURNS).map((turn) => turn.news)];
  const isCut = ({ faults }: (typeof told)[number]) => faults.some(({ code }) => code === OUTPUT_LIMIT);
  return told.length === MAX_CUT_TURNS && told.every(isCut);
}

const alwaysCut = ({ id }: SessionState) =>
  new RuntimeError(
    'stalled',
    `The output limit of the model ended ${MAX_CUT_TURNS} turns in a row, although it was told how long an answer may be.`,
    {
      hint: `Raise the output limit, or tell it what to leave out: telltale steer ${id} "…", then telltale resume ${id}.`,
    },
  );

function stalled({ idleTurns, id, news }: SessionState): RuntimeError {
  const mistake = news.faults.at(-1);
  const last = mistake === undefined ? '' : ` Its last mistake was ${mistake.code}: ${mistake.message}`;
  return new RuntimeError(
    'stalled',
    `The model did nothing for ${idleTurns} turns in a row: no action, no metadata, no response.${last}`,
    { hint: `Give it a hint and go on: telltale steer ${id} "…", then telltale resume ${id}.` },
  );
}
